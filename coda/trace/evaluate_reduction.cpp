#include "coda/trace/evaluate_reduction.h"

#include <algorithm>

#include "coda/reference/formula.h"

namespace coda::trace {

namespace {

// A subgraph for many arguments, without memory of its own for each.
class SubgraphValues {
 public:
  SubgraphValues(const Subgraph& subgraph, bool fp32)
      : subgraph_(subgraph), fp32_(fp32), value_(subgraph.nodes.size()) {}

  void operator()(const std::vector<double>& arguments, std::vector<double>& results) {
    for (size_t i = 0; i < value_.size(); ++i) value_[i] = value_of(subgraph_.nodes[i], arguments);
    results.clear();
    for (const int result : subgraph_.results) {
      results.push_back(value_[static_cast<size_t>(result)]);
    }
  }

 private:
  double value_of(const Node& node, const std::vector<double>& arguments) const {
    if (node.kind == NodeKind::kArgument) return arguments[static_cast<size_t>(node.member)];
    if (node.kind == NodeKind::kConstant) return node.value;
    std::array<double, 3> operand{};
    for (int i = 0; i < node.operands(); ++i) {
      operand[static_cast<size_t>(i)] =
          value_[static_cast<size_t>(node.operand[static_cast<size_t>(i)])];
    }
    const double y = compute(node.function, operand.data());
    return fp32_ ? reference::round_to(DType::kFp32, y) : y;
  }

  const Subgraph& subgraph_;
  bool fp32_;
  std::vector<double> value_;
};

}  // namespace

std::vector<double> evaluate(const Subgraph& subgraph, const std::vector<double>& arguments,
                             bool fp32) {
  std::vector<double> results;
  SubgraphValues values(subgraph, fp32);
  values(arguments, results);
  return results;
}

std::vector<double> combined(const ReductionFacts& reduction, const std::vector<double>& a,
                             const std::vector<double>& b, bool fp32) {
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return evaluate(reduction.combine, both, fp32);
}

std::vector<reference::Array> reduced(const ReductionFacts& reduction, const LiftFacts& lift,
                                      const std::vector<reference::Array>& values, bool rows,
                                      std::vector<int64_t> segments, int width, bool fp32) {
  const int64_t extent = rows ? values[0].columns : values[0].rows;
  const int64_t kept = rows ? values[0].rows : values[0].columns;
  if (segments.empty()) segments = {extent};
  int64_t parts = 0;
  for (const int64_t size : segments) parts += (size + width - 1) / width;
  std::vector<reference::Array> result(static_cast<size_t>(reduction.members),
                                       reference::Array(parts, kept));
  SubgraphValues lifted(lift.lift, fp32), joined(reduction.combine, fp32);
  std::vector<double> arguments, states, next;
  for (int64_t k = 0; k < kept; ++k) {
    int64_t begin = 0, part = 0;
    for (const int64_t size : segments) {
      for (int64_t first = 0; first < size; first += width, ++part) {
        std::vector<double> state = reduction.identity;
        for (int64_t i = begin + first; i < begin + std::min(first + width, size); ++i) {
          arguments.clear();
          for (const auto& value : values) arguments.push_back(rows ? value(k, i) : value(i, k));
          lifted(arguments, next);
          states = state;
          states.insert(states.end(), next.begin(), next.end());
          joined(states, state);
        }
        for (size_t m = 0; m < state.size(); ++m) result[m](part, k) = state[m];
      }
      begin += size;
    }
  }
  return result;
}

}  // namespace coda::trace
