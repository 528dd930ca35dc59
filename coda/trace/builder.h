// Makes nodes: equal ones once, and tidied on the way (x·1, x + 0, −(−x), constants). Host only.
#pragma once
#include <map>
#include <tuple>

#include "coda/trace/graph.h"

namespace coda::trace {

class Builder {
 public:
  explicit Builder(std::vector<Node>& nodes);

  int constant(double value, Element element = Element::kFloat);
  int accumulator(int which);
  int load(int port, int member, Space space, Element element);
  int lookup(int port, int table, int row);
  int row();
  int column();
  int head_dim();
  int group_sum(int value);
  int argument(int which);
  int apply(Function function, int a, int b = -1, int c = -1);

  // Floats, for whoever writes formulas.
  int add(int a, int b) { return apply(Function::kAdd, a, b); }
  int subtract(int a, int b) { return apply(Function::kSubtract, a, b); }
  int multiply(int a, int b) { return apply(Function::kMultiply, a, b); }
  int divide(int a, int b) { return apply(Function::kDivide, a, b); }
  int negate(int a) { return apply(Function::kNegate, a); }

  // A copy of another graph's node whose operands have been copied already; `place` says where.
  int copy(const Node& node, const std::vector<int>& place);
  // What a subgraph gives for these arguments.
  std::vector<int> inlined(const Subgraph& subgraph, const std::vector<int>& arguments);

  const Node& node(int i) const { return nodes_[static_cast<size_t>(i)]; }
  bool is_constant(int i, double value) const;

 private:
  using Key = std::tuple<int, int, int, int, int, uint64_t, int, int, int>;
  int add_node(const Node& node);
  bool is(int i, Function function) const;
  Element element_of(Function function, int a, int b) const;  // of what it gives
  int tidied(Function function, int a, int b, int c);         // -1: nothing to tidy

  std::vector<Node>& nodes_;
  std::map<Key, int> known_;
};

}  // namespace coda::trace
