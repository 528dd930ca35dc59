// DeriveOptions with every name checked and every default filled in. Host only.
#pragma once
#include "coda/trace/derive.h"

namespace coda::trace {

struct DeriveRequest {
  std::string accumulator;           // "forward", or "d" and the name of a Store port
  std::vector<std::string> outputs;  // with an incoming gradient
  std::vector<bool> wanted;          // of each forward port, whether it gets a gradient
  std::vector<std::string> saved;    // Store ports that may be read back
};

bool contains(const std::vector<std::string>& names, const std::string& name);

DeriveRequest derive_request(const Graph& forward, const DeriveOptions& options);

}  // namespace coda::trace
