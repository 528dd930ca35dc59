#include "coda/trace/recognise.h"

#include "coda/trace/builder.h"

namespace coda::trace {
namespace {

class Recognition {
 public:
  explicit Recognition(Builder& builder) : builder_(builder) {}

  // A simpler node that is the same as this function of these operands; else -1.
  int found(Function function, const std::array<int, 3>& x) const {
    if (function == Function::kDivide) {  // a / (1 + exp(-x)) = a·σ(x)
      const int inner = logistic_argument(x[1]);
      if (inner < 0) return -1;
      return builder_.multiply(x[0], builder_.apply(Function::kSigmoid, inner));
    }
    if (function == Function::kSelect) {  // x < 0 ? 0 : x
      const Node& mask = builder_.node(x[0]);
      const bool below = is(x[0], Function::kLess) && mask.operand[0] == x[2] &&
                         builder_.is_constant(mask.operand[1], 0) && builder_.is_constant(x[1], 0);
      return below ? builder_.apply(Function::kRelu, x[2]) : -1;
    }
    return -1;
  }

 private:
  bool is(int i, Function function) const {
    return builder_.node(i).kind == NodeKind::kApply && builder_.node(i).function == function;
  }

  // x of 1 + exp(-x), else -1.
  int logistic_argument(int i) const {
    if (!is(i, Function::kAdd)) return -1;
    for (const int side : {0, 1}) {
      const int one = builder_.node(i).operand[static_cast<size_t>(side)];
      const int other = builder_.node(i).operand[static_cast<size_t>(1 - side)];
      if (builder_.is_constant(one, 1) && is(other, Function::kExp)) {
        return builder_.negate(builder_.node(other).operand[0]);
      }
    }
    return -1;
  }

  Builder& builder_;
};

void renumber_values(Graph& graph, const std::vector<int>& place) {
  for (auto& outputs : graph.segments) {
    for (Output& output : outputs) {
      for (int& value : output.values) value = place[static_cast<size_t>(value)];
    }
  }
}

}  // namespace

Graph recognise(const Graph& graph) {
  Graph result = graph;
  result.nodes.clear();
  Builder builder(result.nodes);
  const Recognition recognition(builder);
  std::vector<int> place;
  for (const Node& node : graph.nodes) {
    std::array<int, 3> operand = node.operand;
    for (int i = 0; i < node.operands(); ++i) {
      int& one = operand[static_cast<size_t>(i)];
      one = place[static_cast<size_t>(one)];
    }
    const int found =
        node.kind == NodeKind::kApply ? recognition.found(node.function, operand) : -1;
    place.push_back(found >= 0 ? found : builder.copy(node, place));
  }
  renumber_values(result, place);
  return result;
}

Graph without_unused(const Graph& graph) {
  std::vector<bool> used(graph.nodes.size()), used_port(graph.program.ports.size());
  for (const auto& outputs : graph.segments) {
    for (const Output& output : outputs) {
      used_port[static_cast<size_t>(output.port)] = true;
      for (const int value : output.values) used[static_cast<size_t>(value)] = true;
    }
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (!used[i]) continue;
    for (int k = 0; k < node.operands(); ++k) {
      used[static_cast<size_t>(node.operand[static_cast<size_t>(k)])] = true;
    }
    if (node.port >= 0) used_port[static_cast<size_t>(node.port)] = true;
  }
  Graph result;
  result.program = graph.program;
  result.program.ports.clear();
  result.segments = graph.segments;
  std::vector<int> port_place(used_port.size(), -1), place(graph.nodes.size(), -1);
  for (size_t i = 0; i < used_port.size(); ++i) {
    if (!used_port[i]) continue;
    port_place[i] = static_cast<int>(result.program.ports.size());
    result.program.ports.push_back(graph.program.ports[i]);
    result.facts.push_back(graph.facts[i]);
  }
  Builder builder(result.nodes);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!used[i]) continue;
    Node node = graph.nodes[i];
    if (node.port >= 0) node.port = port_place[static_cast<size_t>(node.port)];
    place[i] = builder.copy(node, place);
  }
  renumber_values(result, place);
  for (auto& outputs : result.segments) {
    for (Output& output : outputs) output.port = port_place[static_cast<size_t>(output.port)];
  }
  return result;
}

}  // namespace coda::trace
