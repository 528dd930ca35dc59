#include "coda/author/inspect_group_sums.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "coda/core/error.h"
#include "coda/epilogue/staging.h"

namespace coda::author {
namespace {

[[noreturn]] void fail(const trace::Graph& graph, const std::string& why) {
  throw Error(
      fmt::format("{}: group_sum: {}; it runs on the CPU as it is", graph.program.name, why));
}

}  // namespace

// Kernels make all sums in one run of the program, while tensors are still on their way.
void inspect_group_sums(const trace::Graph& graph) {
  using trace::NodeKind;
  if (graph.group_sums > epilogue::kMaxGroupSums) {
    fail(graph, fmt::format("expected at most {} calls in kernels, got {}", epilogue::kMaxGroupSums,
                            graph.group_sums));
  }
  struct Reads {
    bool sum = false;
    int tensor = -1;  // a port
  };
  std::vector<Reads> reads(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const trace::Node& node = graph.nodes[i];
    for (int k = 0; k < node.operands(); ++k) {
      const Reads& of = reads[static_cast<size_t>(node.operand[static_cast<size_t>(k)])];
      reads[i].sum |= of.sum;
      if (of.tensor >= 0) reads[i].tensor = of.tensor;
    }
    if (node.kind == NodeKind::kLoad) {
      const PortView& port = graph.program.ports[static_cast<size_t>(node.port)];
      if (port.kind == PortKind::kPerElement) reads[i].tensor = node.port;
    }
    if (node.kind != NodeKind::kGroupSum) continue;
    if (reads[i].sum) {
      fail(graph, "kernels make all sums at once: expected none of what another one goes into");
    }
    if (reads[i].tensor >= 0) {
      fail(graph, fmt::format("kernels sum before tensors are there: expected accumulators, "
                              "vectors and numbers, got '{}'",
                              graph.program.ports[static_cast<size_t>(reads[i].tensor)].name));
    }
    reads[i].sum = true;
  }
}

}  // namespace coda::author
