// Ports as the C interface shows them.
#pragma once
#include <vector>

#include "coda/coda.h"
#include "coda/program/describe.h"

namespace coda::catalogue {

[[noreturn]] void fail_index(const char* what, size_t count, int32_t index);

// `what` by place in a list. Throws coda::Error beyond its end.
template <class List>
const auto& at(const char* what, const List& list, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= list.size()) {
    fail_index(what, list.size(), index);
  }
  return list[static_cast<size_t>(index)];
}

// As much of it as the caller's version knows. Throws coda::Error beyond the last one.
void write_port(const std::vector<PortView>& ports, int32_t index, coda_port* port);

}  // namespace coda::catalogue
