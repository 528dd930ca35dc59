#include "coda/trace/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "coda/core/error.h"
#include "coda/trace/evaluate_reduction.h"

namespace coda::trace {
namespace {

using reference::Array;
using reference::Arrays;

int64_t joint(int64_t a, int64_t b) { return a == 1 ? b : a; }

double at(const Array& x, int64_t i, int64_t j) {
  return x(x.rows == 1 ? 0 : i, x.columns == 1 ? 0 : j);
}

// 0, 1, ... of each segment.
std::vector<double> indices(int64_t extent, std::vector<int64_t> segments) {
  if (segments.empty()) segments = {extent};
  std::vector<double> result;
  for (const int64_t size : segments) {
    for (int64_t i = 0; i < size; ++i) result.push_back(static_cast<double>(i));
  }
  return result;
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, const Arrays& in, const reference::Rounding* unfused)
      : graph_(graph), in_(in), unfused_(unfused) {
    for (int i = 0; i < graph.program.accumulators; ++i) accumulators_.push_back(accumulator(i));
    M_ = accumulators_[0].rows;
    N_ = accumulators_[0].columns;
    if (in.contains("head_dim")) half_ = static_cast<int64_t>(in.at("head_dim")(0, 0)) / 2;
    values_.resize(graph.nodes.size());
  }

  Arrays outputs();

 private:
  Array accumulator(int which) const;
  const Array& port(const std::string& name) const;
  const Array& value(int node);
  Array compute_node(const Node& node);
  Array load(const Node& node);
  Array finished(const PortView& port, const FinishFacts& facts);
  Array looked_up(const Node& node);
  Array group_sums(const Array& x) const;
  Array applied(const Node& node);
  Array whole(const std::vector<std::pair<int, size_t>>& places);
  double in_fp32(double x) const {  // where it is unfused
    return unfused_ == nullptr ? x : reference::round_to(DType::kFp32, x);
  }
  Array stored(const PortView& port, Array x) const {
    return unfused_ == nullptr ? std::move(x) : unfused_->as(port.name, std::move(x));
  }

  const Graph& graph_;
  const Arrays& in_;
  const reference::Rounding* unfused_;
  std::vector<Array> accumulators_;
  int64_t M_ = 0, N_ = 0, half_ = 1;
  std::vector<std::optional<Array>> values_;
};

const Array& Evaluation::port(const std::string& name) const {
  const auto found = in_.find(name);
  if (found == in_.end()) {
    throw Error(fmt::format("{}: the graph reads '{}', which is not among the inputs",
                            graph_.program.name, name));
  }
  return found->second;
}

Array Evaluation::accumulator(int which) const {
  const auto given = in_.find(fmt::format("accumulator.{}", which));
  if (given != in_.end()) return given->second;
  const char* b = graph_.program.accumulators == 1 ? "B" : which == 0 ? "B.first" : "B.second";
  if (unfused_ != nullptr) return (*unfused_)(unfused_->matmul(port("A"), port(b)));
  return matmul(port("A"), port(b));
}

const Array& Evaluation::value(int node) {
  auto& known = values_[static_cast<size_t>(node)];
  if (!known) known = compute_node(graph_.nodes[static_cast<size_t>(node)]);
  return *known;
}

Array Evaluation::compute_node(const Node& node) {
  switch (node.kind) {
    case NodeKind::kConstant: return {node.value};
    case NodeKind::kAccumulator: return accumulators_[static_cast<size_t>(node.member)];
    case NodeKind::kLoad: return load(node);
    case NodeKind::kLookup: return looked_up(node);
    case NodeKind::kRow: {
      Array result(M_, 1);
      result.values = indices(M_, segments_of(in_, "segments.M"));
      return result;
    }
    case NodeKind::kColumn: {
      Array result(1, N_);
      result.values = indices(N_, segments_of(in_, "segments.N"));
      return result;
    }
    case NodeKind::kHeadDim: return {static_cast<double>(2 * half_)};
    case NodeKind::kApply: return applied(node);
    case NodeKind::kGroupSum: return group_sums(value(node.operand[0]));
    case NodeKind::kArgument: break;
  }
  throw Error("trace: an argument of a reduction stands in a program's graph");
}

Array Evaluation::load(const Node& node) {
  const PortView& view = graph_.program.ports[static_cast<size_t>(node.port)];
  const PortFacts& facts = graph_.facts[static_cast<size_t>(node.port)];
  if (view.kind == PortKind::kScalar) {
    const auto found = in_.find(view.name);
    return found == in_.end() ? Array(facts.number) : found->second;
  }
  if (view.kind == PortKind::kPerRowFrom) return finished(view, *facts.finish);
  Array result = port(view.name);
  if (view.paired) result = half_of(result, half_, node.member);
  if (view.kind == PortKind::kPerRow) result = transpose(result);
  if (view.kind == PortKind::kPerHead) {
    Array repeated(1, N_);
    for (int64_t j = 0; j < N_; ++j) repeated(0, j) = result(0, j % half_);
    result = repeated;
  }
  if (node.element == Element::kInteger) {  // which programs see as int32
    constexpr auto kLow = std::numeric_limits<int32_t>::min();
    constexpr auto kHigh = std::numeric_limits<int32_t>::max();
    for (double& x : result.values) x = std::clamp<double>(x, kLow, kHigh);
  }
  return result;
}

Array Evaluation::finished(const PortView& view, const FinishFacts& facts) {
  const int members = facts.reduction.members;
  std::vector<const Array*> partials;  // [parts, M] of each member
  for (int i = 0; i < members; ++i) {
    partials.push_back(&port(members == 1 ? view.name : fmt::format("{}.{}", view.name, i)));
  }
  Array result(M_, 1);
  for (int64_t m = 0; m < M_; ++m) {
    std::vector<double> state = facts.reduction.identity;
    for (int64_t part = 0; part < partials[0]->rows; ++part) {
      std::vector<double> next;
      for (const Array* member : partials) next.push_back((*member)(part, m));
      state = combined(facts.reduction, state, next, unfused_ != nullptr);
    }
    result(m, 0) = in_fp32(facts.finish(state));
  }
  return result;
}

Array Evaluation::looked_up(const Node& node) {
  const PortView& view = graph_.program.ports[static_cast<size_t>(node.port)];
  const Array& tables = port(view.name);  // side by side: [rows, 2·half]
  const Array& rows = value(node.operand[0]);
  Array result(M_, N_, std::numeric_limits<double>::quiet_NaN());
  for (int64_t m = 0; m < M_; ++m) {
    const auto row = static_cast<int64_t>(at(rows, m, 0));
    if (row < 0 || row >= tables.rows) continue;
    for (int64_t j = 0; j < N_; ++j) result(m, j) = tables(row, node.member * half_ + j % half_);
  }
  return result;
}

Array Evaluation::group_sums(const Array& x) const {
  Array result(M_, N_);
  for (int64_t m = 0; m < M_; ++m) {
    for (int64_t head = 0; head < N_; head += half_) {
      double sum = 0;
      for (int64_t j = head; j < head + half_; ++j) sum = in_fp32(sum + at(x, m, j));
      for (int64_t j = head; j < head + half_; ++j) result(m, j) = sum;
    }
  }
  return result;
}

Array Evaluation::applied(const Node& node) {
  std::array<const Array*, 3> x{};
  int64_t rows = 1, columns = 1;
  const int operands = node.operands();
  for (int k = 0; k < operands; ++k) {
    x[static_cast<size_t>(k)] = &value(node.operand[static_cast<size_t>(k)]);
    rows = joint(rows, x[static_cast<size_t>(k)]->rows);
    columns = joint(columns, x[static_cast<size_t>(k)]->columns);
  }
  Array result(rows, columns);
  const bool whole_numbers = node.element == Element::kInteger;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      std::array<double, 3> operand{};
      for (int k = 0; k < operands; ++k) {
        operand[static_cast<size_t>(k)] = at(*x[static_cast<size_t>(k)], i, j);
      }
      const double y = compute(node.function, operand.data());
      result(i, j) = whole_numbers ? std::trunc(y) : in_fp32(y);
    }
  }
  return result;
}

// Over all segments: from the first column (or row) of each on, its own node.
Array Evaluation::whole(const std::vector<std::pair<int, size_t>>& places) {
  Array result(M_, N_);
  const auto begin_of = [&](const char* name, size_t segment) {
    const auto sizes = segments_of(in_, name);
    int64_t begin = 0;
    for (size_t i = 0; i < std::min(segment, sizes.size()); ++i) begin += sizes[i];
    return begin;
  };
  const size_t cuts =
      std::max(segments_of(in_, "segments.M").size(), segments_of(in_, "segments.N").size());
  for (const auto& [node, segment] : places) {
    if (segment > 0 && segment >= cuts) continue;  // fewer than the program knows
    const Array& x = value(node);
    const int64_t row = begin_of("segments.M", segment), column = begin_of("segments.N", segment);
    for (int64_t i = row; i < M_; ++i) {
      for (int64_t j = column; j < N_; ++j) result(i, j) = at(x, i, j);
    }
  }
  return result;
}

Arrays Evaluation::outputs() {
  Arrays result;
  for (size_t p = 0; p < graph_.program.ports.size(); ++p) {
    const PortView& view = graph_.program.ports[p];
    std::vector<std::vector<std::pair<int, size_t>>> values;  // of each argument, by segment
    const Output* output = nullptr;
    for (size_t s = 0; s < graph_.segments.size(); ++s) {
      for (const Output& one : graph_.segments[s]) {
        if (one.port != static_cast<int>(p)) continue;
        output = &one;
        values.resize(one.values.size());
        for (size_t k = 0; k < values.size(); ++k) values[k].emplace_back(one.values[k], s);
      }
    }
    if (output == nullptr) continue;
    std::vector<Array> arrays;
    for (const auto& places : values) arrays.push_back(whole(places));
    if (view.kind == PortKind::kStore) {
      result[view.name] =
          stored(view, view.paired ? join_halves(arrays[0], arrays[1], half_) : arrays[0]);
      continue;
    }
    const bool rows = view.kind == PortKind::kRowReduce;
    const auto states = reduced(*graph_.facts[p].reduction, *output->lift, arrays, rows,
                                segments_of(in_, rows ? "segments.N" : "segments.M"),
                                view.partial_width, unfused_ != nullptr);
    for (size_t k = 0; k < states.size(); ++k) {
      result[states.size() == 1 ? view.name : fmt::format("{}.{}", view.name, k)] = states[k];
    }
  }
  return result;
}

}  // namespace

Arrays evaluate(const Graph& graph, const Arrays& in, const reference::Rounding* unfused) {
  return Evaluation(graph, in, unfused).outputs();
}

}  // namespace coda::trace
