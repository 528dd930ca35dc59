#include "coda/trace/traffic.h"

#include <cmath>

#include "coda/trace/recognise.h"

namespace coda::trace {
namespace {

double parts(int64_t extent, int width) {
  const int64_t count = (extent + width - 1) / width;
  return static_cast<double>(count);
}

double space_bytes(Space space, const TrafficShape& shape) {
  const auto M = static_cast<double>(shape.M), N = static_cast<double>(shape.N);
  switch (space) {
    case Space::kElement: return M * N * static_cast<double>(shape.operand_bytes);
    case Space::kRow: return M * 4;
    case Space::kColumn: return N * static_cast<double>(shape.operand_bytes);
    case Space::kScalar: break;
  }
  return 0;
}

// A framework's operator takes these along: a factor of its own, a negated operand, and of a
// gated unit the sigmoid inside.
bool rides_along(const Graph& graph, const Node& node) {
  const auto operand = [&](int k) -> const Node& {
    return graph.nodes[static_cast<size_t>(node.operand[static_cast<size_t>(k)])];
  };
  if (node.element != Element::kFloat || node.space == Space::kScalar) return true;
  switch (node.function) {
    case Function::kNegate:
    case Function::kSigmoid:
    case Function::kToFloat: return true;
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
    case Function::kDivide:
      return operand(0).space == Space::kScalar || operand(1).space == Space::kScalar;
    default: return false;
  }
}

// The operators of one segment, one pass each.
void count_passes(const Graph& graph, const std::vector<Output>& outputs, const TrafficShape& shape,
                  double share, Traffic& traffic, double& passes) {
  std::vector<bool> used(graph.nodes.size());
  for (const Output& output : outputs) {
    for (const int value : output.values) used[static_cast<size_t>(value)] = true;
    const PortView& port = graph.program.ports[static_cast<size_t>(output.port)];
    if (port.kind == PortKind::kStore) continue;
    for (const int value : output.values) {  // a reduction reads what it reduces
      traffic.eager_bytes +=
          share * space_bytes(graph.nodes[static_cast<size_t>(value)].space, shape);
    }
    passes += share;
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (!used[i]) continue;
    double bytes = space_bytes(node.space, shape);
    for (int k = 0; k < node.operands(); ++k) {
      const auto operand = static_cast<size_t>(node.operand[static_cast<size_t>(k)]);
      used[operand] = true;
      bytes += space_bytes(graph.nodes[operand].space, shape);
    }
    const bool works = node.kind == NodeKind::kApply || node.kind == NodeKind::kGroupSum;
    if (!works) continue;
    if (node.space == Space::kElement) {
      traffic.element_flops += share * static_cast<double>(shape.M) * static_cast<double>(shape.N);
    }
    if (node.kind == NodeKind::kApply && rides_along(graph, node)) continue;
    traffic.eager_bytes += share * bytes;
    passes += share;
  }
}

}  // namespace

double port_bytes(const PortView& port, const TrafficShape& shape) {
  const auto M = static_cast<double>(shape.M);
  const double N = static_cast<double>(shape.N) * (port.paired ? 2 : 1);
  const auto element = static_cast<double>(port.element_bytes);
  const double half = static_cast<double>(shape.head_dim) / 2;
  switch (port.kind) {
    case PortKind::kPerRow: return M * element;
    case PortKind::kPerColumn: return N * element;
    case PortKind::kPerElement:
    case PortKind::kStore: return M * N * element;
    case PortKind::kScalar: return element;
    case PortKind::kPerRowFrom: return parts(shape.K, kPartialWidth) * M * element;
    case PortKind::kPerHead: return half * (port.paired ? 2 : 1) * element;
    case PortKind::kPairTable: return 2 * M * half * element;
    case PortKind::kRowReduce: return parts(shape.N, port.partial_width) * M * element;
    case PortKind::kColumnReduce: return parts(shape.M, port.partial_width) * N * element;
  }
  return 0;
}

Traffic traffic_of(const Graph& original, const TrafficShape& shape) {
  const Graph graph = recognise(original);
  Traffic result;
  const auto M = static_cast<double>(shape.M), N = static_cast<double>(shape.N),
             K = static_cast<double>(shape.K);
  const int accumulators = graph.program.accumulators;
  result.gemm_flops = 2 * M * N * K * accumulators;
  result.operand_bytes = (M + N * accumulators) * K * static_cast<double>(shape.operand_bytes);
  double ports = 0;
  for (const PortView& port : graph.program.ports) {
    if (!port.given && port.optional) continue;
    const double bytes = port_bytes(port, shape);
    result.ports.push_back({port.name, kind_name(port.kind), dtype_name(port.dtype),
                            shape_name(port), is_input(port.kind), bytes});
    ports += bytes;
  }
  result.fused_bytes = result.operand_bytes + ports;
  const double product = M * N * accumulators * static_cast<double>(shape.operand_bytes);
  result.compiled_bytes = result.operand_bytes + product + product + ports;
  result.eager_bytes = result.operand_bytes + product;
  double passes = 0;
  const double share = 1.0 / static_cast<double>(graph.segments.size());
  for (const auto& outputs : graph.segments) {
    count_passes(graph, outputs, shape, share, result, passes);
  }
  result.eager_passes = static_cast<int>(std::lround(passes));
  return result;
}

}  // namespace coda::trace
