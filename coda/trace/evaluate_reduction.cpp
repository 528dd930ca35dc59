#include "coda/trace/evaluate_reduction.h"

#include <algorithm>

namespace coda::trace {

std::vector<double> evaluate(const Subgraph& subgraph, const std::vector<double>& arguments) {
  std::vector<double> value;
  for (const Node& node : subgraph.nodes) {
    if (node.kind == NodeKind::kArgument) {
      value.push_back(arguments[static_cast<size_t>(node.member)]);
    } else if (node.kind == NodeKind::kConstant) {
      value.push_back(node.value);
    } else {
      std::array<double, 3> operand{};
      for (int i = 0; i < node.operands(); ++i) {
        operand[static_cast<size_t>(i)] =
            value[static_cast<size_t>(node.operand[static_cast<size_t>(i)])];
      }
      value.push_back(compute(node.function, operand.data()));
    }
  }
  std::vector<double> results;
  for (const int result : subgraph.results) results.push_back(value[static_cast<size_t>(result)]);
  return results;
}

std::vector<double> combined(const ReductionFacts& reduction, const std::vector<double>& a,
                             const std::vector<double>& b) {
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return evaluate(reduction.combine, both);
}

std::vector<reference::Array> reduced(const ReductionFacts& reduction, const LiftFacts& lift,
                                      const std::vector<reference::Array>& values, bool rows,
                                      std::vector<int64_t> segments, int width) {
  const int64_t extent = rows ? values[0].columns : values[0].rows;
  const int64_t kept = rows ? values[0].rows : values[0].columns;
  if (segments.empty()) segments = {extent};
  int64_t parts = 0;
  for (const int64_t size : segments) parts += (size + width - 1) / width;
  std::vector<reference::Array> result(static_cast<size_t>(reduction.members),
                                       reference::Array(parts, kept));
  for (int64_t k = 0; k < kept; ++k) {
    int64_t begin = 0, part = 0;
    for (const int64_t size : segments) {
      for (int64_t first = 0; first < size; first += width, ++part) {
        std::vector<double> state = reduction.identity;
        for (int64_t i = begin + first; i < begin + std::min(first + width, size); ++i) {
          std::vector<double> arguments;
          for (const auto& value : values) arguments.push_back(rows ? value(k, i) : value(i, k));
          state = combined(reduction, state, evaluate(lift.lift, arguments));
        }
        for (size_t m = 0; m < state.size(); ++m) result[m](part, k) = state[m];
      }
      begin += size;
    }
  }
  return result;
}

}  // namespace coda::trace
