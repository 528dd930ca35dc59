#include "coda/trace/forward_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace coda::trace {

ForwardValues::ForwardValues(const Graph& forward, const std::vector<Output>& outputs,
                             bool accumulators, const std::vector<std::string>& saved,
                             DType element, Builder& builder, DerivedPorts& ports)
    : forward_(forward),
      element_(element),
      builder_(builder),
      ports_(ports),
      how_(forward.nodes.size()),
      may_mask_(forward.nodes.size()),
      made_(forward.nodes.size()) {
  find_masks();
  find_sources(outputs, accumulators, saved);
}

// What may be -∞ at some elements, or so large that a sum with it forgets the other term: tensors,
// and what is chosen or computed for each element. Sums and products of vectors are none.
void ForwardValues::find_masks() {
  for (size_t i = 0; i < may_mask_.size(); ++i) {
    const Node& node = forward_.nodes[i];
    if (node.space != Space::kElement) continue;
    const Function f = node.function;
    may_mask_[i] = node.kind != NodeKind::kApply ||
                   !(f == Function::kAdd || f == Function::kSubtract || f == Function::kMultiply ||
                     f == Function::kNegate || f == Function::kFma);
    for (int k = 0; k < node.operands(); ++k) {
      const auto operand = static_cast<size_t>(node.operand[static_cast<size_t>(k)]);
      may_mask_[i] = may_mask_[i] || may_mask_[operand];
    }
  }
}

void ForwardValues::find_sources(const std::vector<Output>& outputs, bool accumulators,
                                 const std::vector<std::string>& saved) {
  const auto node_at = [&](size_t i) -> const Node& { return forward_.nodes[i]; };
  for (size_t i = 0; i < how_.size(); ++i) {
    const NodeKind kind = node_at(i).kind;
    const bool leaf = node_at(i).operands() == 0;
    if (leaf && (kind != NodeKind::kAccumulator || accumulators)) how_[i].source = Source::kLeaf;
  }
  const auto compute_what_can_be = [&] {
    for (size_t i = 0; i < how_.size(); ++i) {
      const Node& node = node_at(i);
      if (how_[i].source != Source::kNone || node.operands() == 0) continue;
      bool known = true;
      for (int k = 0; k < node.operands(); ++k) {
        const auto operand = static_cast<size_t>(node.operand[static_cast<size_t>(k)]);
        known = known && how_[operand].source != Source::kNone;
      }
      if (known) how_[i].source = Source::kComputed;
    }
  };
  compute_what_can_be();  // before anything is read back: it costs nothing
  for (const Output& output : outputs) {
    const PortView& port = forward_.program.ports[static_cast<size_t>(output.port)];
    const bool allowed = std::ranges::find(saved, port.name) != saved.end();
    if (port.kind != PortKind::kStore || !allowed) continue;
    for (size_t k = 0; k < output.values.size(); ++k) {
      How& how = how_[static_cast<size_t>(output.values[k])];
      if (how.source != Source::kNone) continue;
      how = {Source::kStored, output.port, static_cast<int>(k)};
    }
  }
  for (bool more = true; more;) {
    compute_what_can_be();
    more = false;
    for (int i = static_cast<int>(how_.size()) - 1; i >= 0; --i) {
      if (how_[static_cast<size_t>(i)].source != Source::kNone) more = rebuild_operands(i) || more;
    }
  }
}

// Whether an operand of this known node is known from now on.
bool ForwardValues::rebuild_operands(int i) {
  const Node& node = forward_.nodes[static_cast<size_t>(i)];
  if (node.kind != NodeKind::kApply) return false;
  const Function f = node.function;
  const bool sum = f == Function::kAdd || f == Function::kSubtract;
  const int operands = node.operands();
  if (f != Function::kNegate && f != Function::kMultiply && f != Function::kDivide && !sum) {
    return false;
  }
  for (int k = 0; k < operands; ++k) {
    const int wanted = node.operand[static_cast<size_t>(k)];
    const int other = operands == 2 ? node.operand[static_cast<size_t>(1 - k)] : -1;
    How& how = how_[static_cast<size_t>(wanted)];
    if (how.source != Source::kNone) continue;
    if (other >= 0 && how_[static_cast<size_t>(other)].source == Source::kNone) continue;
    // A weight may be anything, also zero.
    if (f == Function::kMultiply && !is_no_zero(other)) continue;
    if (f == Function::kDivide && k == 1) continue;
    if (sum && may_mask_[static_cast<size_t>(other)]) continue;
    how = {Source::kRebuilt, i, 0};
    return true;
  }
  return false;
}

bool ForwardValues::is_no_zero(int i) const {
  const Node& node = forward_.nodes[static_cast<size_t>(i)];
  if (node.kind == NodeKind::kConstant) return node.value != 0;
  if (node.kind == NodeKind::kLoad) {
    const auto& finish = forward_.facts[static_cast<size_t>(node.port)].finish;
    return finish != nullptr && finish->never_zero;
  }
  return node.kind == NodeKind::kApply && node.function == Function::kRsqrt;
}

int ForwardValues::value(int node) {
  auto& made = made_[static_cast<size_t>(node)];
  if (!made) made = make(node);
  return *made;
}

int ForwardValues::make(int i) {
  const Node& node = forward_.nodes[static_cast<size_t>(i)];
  const How& how = how_[static_cast<size_t>(i)];
  if (how.source == Source::kStored) {
    const PortView& port = forward_.program.ports[static_cast<size_t>(how.through)];
    if (std::ranges::find(read_back_, how.through) == read_back_.end()) {
      read_back_.push_back(how.through);
    }
    return builder_.load(
        ports_.saved(port.name, port.dtype, port.segments, port.paired, how.through), how.member,
        Space::kElement, Element::kFloat);
  }
  if (how.source == Source::kRebuilt) return rebuilt(i, how.through);
  if (node.kind == NodeKind::kAccumulator && how.source == Source::kNone) {
    if (std::ranges::find(missing_, node.member) == missing_.end()) missing_.push_back(node.member);
    const std::string name = forward_.program.accumulators == 1
                                 ? "accumulator"
                                 : fmt::format("accumulator{}", node.member);
    return builder_.load(ports_.saved(name, element_, 1, false, node.member - kMaxPorts), 0,
                         Space::kElement, Element::kFloat);
  }
  if (node.kind == NodeKind::kLoad) {
    return builder_.load(ports_.forward_input(node.port), node.member, node.space, node.element);
  }
  if (node.kind == NodeKind::kLookup) {
    return builder_.lookup(ports_.forward_input(node.port), node.member, value(node.operand[0]));
  }
  Node copy = node;
  std::vector<int> place(forward_.nodes.size(), -1);
  for (int k = 0; k < node.operands(); ++k) {
    const int operand = node.operand[static_cast<size_t>(k)];
    place[static_cast<size_t>(operand)] = value(operand);
  }
  return builder_.copy(copy, place);
}

int ForwardValues::rebuilt(int i, int through) {
  const Node& node = forward_.nodes[static_cast<size_t>(through)];
  const int y = value(through);
  if (node.function == Function::kNegate) return builder_.negate(y);
  const bool first = node.operand[0] == i;
  const int other = value(node.operand[first ? 1 : 0]);
  switch (node.function) {
    case Function::kAdd: return builder_.subtract(y, other);
    case Function::kSubtract: return first ? builder_.add(y, other) : builder_.subtract(other, y);
    case Function::kMultiply: return builder_.divide(y, other);
    default: return builder_.multiply(y, other);  // Divide
  }
}

}  // namespace coda::trace
