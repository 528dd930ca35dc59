#include "coda/trace/derive_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coda/core/error.h"

namespace coda::trace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

namespace {

const PortView& port_of(const Graph& forward, const std::string& name) {
  return forward.program.ports[static_cast<size_t>(forward.port(name))];
}

std::vector<std::string> outputs_of(const Graph& forward, const DeriveOptions& options) {
  for (const std::string& name : options.outputs) {
    const PortView& port = port_of(forward, name);
    if (!is_input(port.kind) && port.given) continue;
    throw Error(fmt::format("derive {}: '{}' is {}; a gradient comes in of an output that is given",
                            forward.program.name, name,
                            is_input(port.kind) ? "an input" : "left out"));
  }
  if (!options.outputs.empty()) return options.outputs;
  std::vector<std::string> result;
  for (const PortView& port : forward.program.ports) {
    if (!is_input(port.kind) && port.given && !port.optional) result.push_back(port.name);
  }
  if (result.empty()) {
    throw Error(
        fmt::format("derive {}: all of its outputs are optional; name those that have a "
                    "gradient (--outputs)",
                    forward.program.name));
  }
  return result;
}

// Whether a GEMM can give the gradient of a Store port as its accumulators: both halves of every
// head where B comes so.
bool comes_of_gemm(const Graph& forward, const PortView& port) {
  return port.kind == PortKind::kStore && port.paired == forward.program.halves;
}

// outputs: those with a gradient.
std::string accumulator_of(const Graph& forward, const DeriveOptions& options,
                           const std::vector<std::string>& outputs) {
  if (options.accumulator == "forward") return options.accumulator;
  if (options.accumulator.empty()) {
    std::string last_store;
    for (const PortView& port : forward.program.ports) {
      if (comes_of_gemm(forward, port) && contains(outputs, port.name)) last_store = port.name;
    }
    return last_store.empty() ? "forward" : "d" + last_store;
  }
  const std::string of = options.accumulator.substr(1);
  const bool store = options.accumulator[0] == 'd' && contains(outputs, of) &&
                     comes_of_gemm(forward, port_of(forward, of));
  if (!store) {
    throw Error(fmt::format(
        "derive {}: the accumulator cannot be '{}'; it is 'forward', the forward GEMM again, or "
        "'d' and the name of a {}Store port that has a gradient ({})",
        forward.program.name, options.accumulator, forward.program.halves ? "Paired " : "",
        fmt::join(outputs, ", ")));
  }
  return options.accumulator;
}

std::vector<bool> wanted_gradients(const Graph& forward, const DeriveOptions& options) {
  const bool none = options.gradients == std::vector<std::string>{"-"};
  for (const std::string& name : none ? std::vector<std::string>() : options.gradients) {
    const PortView& port = port_of(forward, name);
    if (is_input(port.kind) && port.kind != PortKind::kPairTable && !is_integer(port.dtype) &&
        port.given) {
      continue;
    }
    throw Error(fmt::format(
        "derive {}: '{}' has no gradient{}; inputs of floats that are given have one, but for "
        "tables that are looked up",
        forward.program.name, name,
        port.optional && !port.given ? fmt::format(" where it is left out (--with {})", name)
                                     : ""));
  }
  std::vector<bool> result;
  for (const PortView& port : forward.program.ports) {
    const bool usual = port.kind == PortKind::kPerElement || port.kind == PortKind::kPerRow ||
                       port.kind == PortKind::kPerColumn || port.kind == PortKind::kPerRowFrom ||
                       (port.kind == PortKind::kPerHead && port.paired);
    result.push_back(options.gradients.empty() ? usual : contains(options.gradients, port.name));
  }
  return result;
}

std::vector<std::string> saved_of(const Graph& forward, const DeriveOptions& options) {
  if (options.saved == std::vector<std::string>{"-"}) return {};
  for (const std::string& name : options.saved) {
    if (port_of(forward, name).kind == PortKind::kStore) continue;
    throw Error(fmt::format("derive {}: '{}' is no Store port, so that nothing can be read back",
                            forward.program.name, name));
  }
  if (!options.saved.empty()) return options.saved;
  std::vector<std::string> result;
  for (const PortView& port : forward.program.ports) {
    if (port.kind == PortKind::kStore) result.push_back(port.name);
  }
  return result;
}

}  // namespace

DeriveRequest derive_request(const Graph& forward, const DeriveOptions& options) {
  DeriveRequest request;
  request.outputs = outputs_of(forward, options);
  request.accumulator = accumulator_of(forward, options, request.outputs);
  request.wanted = wanted_gradients(forward, options);
  request.saved = saved_of(forward, options);
  return request;
}

}  // namespace coda::trace
