#include "coda/trace/derive_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coda/core/error.h"

namespace coda::trace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

DeriveRequest derive_request(const Graph& forward, const DeriveOptions& options) {
  const auto& ports = forward.program.ports;
  DeriveRequest request{options.accumulator, options.outputs, {}, options.saved};
  for (const std::string& name : options.outputs) {
    const PortView& port = ports[static_cast<size_t>(forward.port(name))];
    if (!is_input(port.kind) && port.given) continue;
    throw Error(fmt::format("derive {}: '{}' is {}; a gradient comes in of an output that is given",
                            forward.program.name, name,
                            is_input(port.kind) ? "an input" : "left out"));
  }
  std::string last_store;
  for (const PortView& port : ports) {
    if (is_input(port.kind) || !port.given) continue;
    if (options.outputs.empty() && !port.optional) request.outputs.push_back(port.name);
    if (port.kind == PortKind::kStore && contains(request.outputs, port.name)) {
      last_store = port.name;
    }
  }
  if (request.outputs.empty()) {
    throw Error(
        fmt::format("derive {}: all of its outputs are optional; name those that have a "
                    "gradient (--outputs)",
                    forward.program.name));
  }
  if (request.accumulator.empty()) {
    request.accumulator = last_store.empty() ? "forward" : "d" + last_store;
  }
  if (request.accumulator != "forward") {
    const std::string of = request.accumulator.substr(1);
    const bool store = request.accumulator[0] == 'd' && contains(request.outputs, of) &&
                       ports[static_cast<size_t>(forward.port(of))].kind == PortKind::kStore;
    if (!store) {
      throw Error(fmt::format(
          "derive {}: the accumulator cannot be '{}'; it is 'forward', the forward GEMM again, or "
          "'d' and the name of a Store port that has a gradient ({})",
          forward.program.name, request.accumulator, fmt::join(request.outputs, ", ")));
    }
  }
  const bool none = options.gradients == std::vector<std::string>{"-"};
  for (const std::string& name : none ? std::vector<std::string>() : options.gradients) {
    const PortView& port = ports[static_cast<size_t>(forward.port(name))];
    const bool integer = port.dtype == DType::kInt32 || port.dtype == DType::kInt64;
    if (is_input(port.kind) && port.kind != PortKind::kPairTable && !integer && port.given)
      continue;
    throw Error(fmt::format(
        "derive {}: '{}' has no gradient{}; inputs of floats that are given have one, but for "
        "tables that are looked up",
        forward.program.name, name,
        port.optional && !port.given ? fmt::format(" where it is left out (--with {})", name)
                                     : ""));
  }
  for (const PortView& port : ports) {
    const bool usual = port.kind == PortKind::kPerElement || port.kind == PortKind::kPerRow ||
                       port.kind == PortKind::kPerColumn || port.kind == PortKind::kPerRowFrom ||
                       (port.kind == PortKind::kPerHead && port.paired);
    request.wanted.push_back(options.gradients.empty() ? usual
                                                       : contains(options.gradients, port.name));
  }
  for (const std::string& name : options.saved) {
    if (ports[static_cast<size_t>(forward.port(name))].kind == PortKind::kStore) continue;
    throw Error(fmt::format("derive {}: '{}' is no Store port, so that nothing can be read back",
                            forward.program.name, name));
  }
  return request;
}

}  // namespace coda::trace
