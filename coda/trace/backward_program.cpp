#include "coda/trace/backward_program.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/trace/recognise.h"

namespace coda::trace {
namespace {

bool is_daccumulator(const PortView& port) {
  return port.kind == PortKind::kStore && port.name.starts_with("daccumulator");
}

// Accumulators become inputs over elements.
void read_accumulators(Graph& graph, DType element) {
  const int accumulators = graph.program.accumulators;
  std::vector<int> place(static_cast<size_t>(accumulators), -1);
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::kAccumulator) continue;
    int& port = place[static_cast<size_t>(node.member)];
    if (port < 0) {
      PortView view;
      view.name = accumulators == 1 ? "accumulator" : fmt::format("accumulator{}", node.member);
      view.kind = PortKind::kPerElement;
      view.given = true;
      view.dtype = element;
      view.element_bytes = view.alignment = dtype_bytes(element);
      port = static_cast<int>(graph.program.ports.size());
      graph.program.ports.push_back(view);
      graph.facts.emplace_back();
    }
    node.kind = NodeKind::kLoad;
    node.port = port;
    node.member = 0;
  }
  graph.program.accumulators = 1;
}

}  // namespace

Graph backward_program(const Graph& forward, const BackwardOptions& options) {
  if (!options.accumulators && options.gradients.empty()) {
    throw Error(
        fmt::format("derive {}: expected gradients of its accumulators or of inputs, got neither",
                    forward.program.name));
  }
  DeriveOptions asked;
  asked.accumulator = "forward";
  asked.outputs = options.outputs;
  asked.gradients = options.gradients.empty() ? std::vector<std::string>{"-"} : options.gradients;
  asked.operand = options.operand;
  Graph graph = derive(forward, asked).graph;
  if (!options.accumulators) {
    std::erase_if(graph.segments[0], [&](const Output& output) {
      return is_daccumulator(graph.program.ports[static_cast<size_t>(output.port)]);
    });
    graph = without_unused(graph);
  }
  if (options.kept) read_accumulators(graph, options.kept_element);
  if (graph.program.ports.size() > static_cast<size_t>(kMaxPorts)) {
    throw Error(fmt::format(
        "{}: {} ports with the accumulators that are kept, and a program has at most {}; let the "
        "GEMM run again instead, or use fewer inputs",
        graph.program.name, graph.program.ports.size(), kMaxPorts));
  }
  return graph;
}

}  // namespace coda::trace
