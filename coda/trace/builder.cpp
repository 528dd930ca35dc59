#include "coda/trace/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace coda::trace {
namespace {

auto key_of(const Node& n) {
  return std::tuple(static_cast<int>(n.kind), static_cast<int>(n.function),
                    static_cast<int>(n.element), n.port, n.member, std::bit_cast<uint64_t>(n.value),
                    n.operand[0], n.operand[1], n.operand[2]);
}

bool commutes(Function function) {
  return function == Function::kAdd || function == Function::kMultiply ||
         function == Function::kEqual || function == Function::kNotEqual ||
         function == Function::kAnd || function == Function::kOr;
}

// Whether one constant can stand for two: c·(d·x) may be finite, and not 0, where (c·d)·x is not.
bool holds(double value, Element element) {
  using Integers = std::numeric_limits<int32_t>;
  return element == Element::kInteger ? value >= Integers::min() && value <= Integers::max()
                                      : std::isnormal(static_cast<float>(value));
}

}  // namespace

Builder::Builder(std::vector<Node>& nodes) : nodes_(nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) known_.emplace(key_of(nodes[i]), static_cast<int>(i));
}

int Builder::add_node(const Node& node) {
  const auto found = known_.find(key_of(node));
  if (found != known_.end()) return found->second;
  if (node.kind == NodeKind::kApply && commutes(node.function)) {
    Node swapped = node;
    std::swap(swapped.operand[0], swapped.operand[1]);
    const auto other = known_.find(key_of(swapped));
    if (other != known_.end()) return other->second;
  }
  nodes_.push_back(node);
  const int place = static_cast<int>(nodes_.size()) - 1;
  known_.emplace(key_of(node), place);
  return place;
}

int Builder::constant(double value, Element element) {
  return add_node({.kind = NodeKind::kConstant, .element = element, .value = value});
}
int Builder::accumulator(int which) {
  return add_node({.kind = NodeKind::kAccumulator, .space = Space::kElement, .member = which});
}
int Builder::load(int port, int member, Space space, Element element) {
  return add_node({.kind = NodeKind::kLoad,
                   .element = element,
                   .space = space,
                   .port = port,
                   .member = member});
}
int Builder::lookup(int port, int table, int row) {
  return add_node({.kind = NodeKind::kLookup,
                   .space = Space::kElement,
                   .port = port,
                   .member = table,
                   .operand = {row, -1, -1}});
}
int Builder::row() {
  return add_node({.kind = NodeKind::kRow, .element = Element::kInteger, .space = Space::kRow});
}
int Builder::column() {
  return add_node(
      {.kind = NodeKind::kColumn, .element = Element::kInteger, .space = Space::kColumn});
}
int Builder::head_dim() { return add_node({.kind = NodeKind::kHeadDim}); }
int Builder::group_sum(int value) {
  return add_node({.kind = NodeKind::kGroupSum, .space = Space::kRow, .operand = {value, -1, -1}});
}
int Builder::argument(int which) {
  return add_node({.kind = NodeKind::kArgument, .space = Space::kElement, .member = which});
}

int Builder::apply(Function function, int a, int b, int c) {
  const int simpler = tidied(function, a, b, c);
  if (simpler >= 0) return simpler;
  Node node{.kind = NodeKind::kApply, .function = function, .operand = {a, b, c}};
  const FunctionFacts& facts = facts_of(function);
  node.element = element_of(function, a, b);
  for (int i = 0; i < facts.operands; ++i) {
    node.space = join(node.space, this->node(node.operand[static_cast<size_t>(i)]).space);
  }
  return add_node(node);
}

bool Builder::is(int i, Function function) const {
  return node(i).kind == NodeKind::kApply && node(i).function == function;
}

Element Builder::element_of(Function function, int a, int b) const {
  return facts_of(function).comparison    ? Element::kMask
         : function == Function::kSelect  ? node(b).element
         : function == Function::kToFloat ? Element::kFloat
                                          : node(a).element;
}

bool Builder::is_constant(int i, double value) const {
  return node(i).kind == NodeKind::kConstant && node(i).value == value;
}

int Builder::tidied(Function function, int a, int b, int c) {
  const int operands = facts_of(function).operands;
  const std::array given{a, b, c};
  const auto constant_at = [&](int i) { return node(i).kind == NodeKind::kConstant; };
  const bool known = std::all_of(given.begin(), given.begin() + operands, constant_at);
  if (known) {
    const std::array<double, 3> values{node(a).value, operands > 1 ? node(b).value : 0,
                                       operands > 2 ? node(c).value : 0};
    const double value = compute(function, values.data());
    const Element element = element_of(function, a, b);
    if (element != Element::kInteger || holds(value, element)) return constant(value, element);
  }
  const auto negated = [&](int i) { return is(i, Function::kNegate); };
  const auto inner = [&](int i) { return node(i).operand[0]; };
  switch (function) {
    case Function::kNegate: return negated(a) ? inner(a) : -1;
    case Function::kAdd:
      if (is_constant(b, 0)) return a;
      if (is_constant(a, 0)) return b;
      if (negated(b)) return subtract(a, inner(b));
      if (negated(a)) return subtract(b, inner(a));
      return -1;
    case Function::kSubtract:
      if (is_constant(b, 0)) return a;
      if (is_constant(a, 0)) return negate(b);
      if (negated(b)) return add(a, inner(b));
      return -1;
    case Function::kMultiply:
      if (is_constant(a, 1)) return b;
      if (is_constant(b, 1)) return a;
      if (is_constant(a, -1)) return negate(b);
      if (is_constant(b, -1)) return negate(a);
      if (negated(a)) return negate(multiply(inner(a), b));
      if (negated(b)) return negate(multiply(a, inner(b)));
      // Constants first, and one of them at most where it can stand for two.
      if (constant_at(b) && !constant_at(a)) return multiply(b, a);
      if (constant_at(a) && is(b, Function::kMultiply) && constant_at(inner(b))) {
        const double first = node(a).value, second = node(inner(b)).value;
        if (first == 0 || second == 0 || holds(first * second, node(a).element)) {
          return multiply(constant(first * second, node(a).element), node(b).operand[1]);
        }
      }
      return -1;
    case Function::kDivide:
      if (is_constant(b, 1)) return a;
      if (negated(a)) return negate(divide(inner(a), b));
      return -1;
    case Function::kFma:
      if (is_constant(c, 0)) return multiply(a, b);
      if (is_constant(a, 1)) return add(b, c);
      if (is_constant(b, 1)) return add(a, c);
      return -1;
    case Function::kAnd:
      if (constant_at(a)) return node(a).value != 0 ? b : a;
      if (constant_at(b)) return node(b).value != 0 ? a : b;
      return -1;
    case Function::kOr:
      if (constant_at(a)) return node(a).value != 0 ? a : b;
      if (constant_at(b)) return node(b).value != 0 ? b : a;
      return -1;
    case Function::kSelect:
      if (constant_at(a)) return node(a).value != 0 ? b : c;
      return b == c ? b : -1;
    default: return -1;
  }
}

int Builder::copy(const Node& original, const std::vector<int>& place) {
  Node node = original;
  for (int i = 0; i < node.operands(); ++i) {
    int& operand = node.operand[static_cast<size_t>(i)];
    operand = place[static_cast<size_t>(operand)];
  }
  if (node.kind == NodeKind::kApply) {
    return apply(node.function, node.operand[0], node.operand[1], node.operand[2]);
  }
  return add_node(node);
}

std::vector<int> Builder::inlined(const Subgraph& subgraph, const std::vector<int>& arguments) {
  std::vector<int> place;
  for (const Node& node : subgraph.nodes) {
    place.push_back(node.kind == NodeKind::kArgument ? arguments[static_cast<size_t>(node.member)]
                                                     : copy(node, place));
  }
  std::vector<int> results;
  for (const int result : subgraph.results) results.push_back(place[static_cast<size_t>(result)]);
  return results;
}

}  // namespace coda::trace
