// The gradients of a program by its derived one: the loss Σ dout ⊙ out over all outputs (of a
// reduction: over what it is finished to), from drawn dout.
#pragma once
#include <fmt/format.h>

#include <cmath>

#include "coda/trace/derive.h"
#include "coda/trace/evaluate.h"
#include "coda/trace/evaluate_reduction.h"
#include "random_program.h"

namespace coda::trace {

using reference::Array;
using reference::Arrays;

// The gradients of everything that has one.
inline DeriveOptions all_gradients(const Graph& graph) {
  DeriveOptions options;
  for (const PortView& port : graph.program.ports) {
    const bool floats = port.dtype == DType::kFp32 && port.kind != PortKind::kPairTable;
    if (is_input(port.kind) && floats) options.gradients.push_back(port.name);
  }
  if (options.gradients.empty()) options.gradients = {"-"};
  return options;
}

// What an output is finished to: a Store as it is, a reduction [1, M] or [1, N].
inline Array finished_output(const Graph& graph, size_t port, const Arrays& out) {
  const PortView& view = graph.program.ports[port];
  if (view.kind == PortKind::kStore) return out.at(view.name);
  const ReductionFacts& reduction = *graph.facts[port].reduction;
  std::vector<const Array*> members;
  for (int i = 0; i < reduction.members; ++i) {
    members.push_back(
        &out.at(reduction.members == 1 ? view.name : fmt::format("{}.{}", view.name, i)));
  }
  Array result(1, members[0]->columns);
  for (int64_t k = 0; k < result.columns; ++k) {
    std::vector<double> state = reduction.identity;
    for (int64_t part = 0; part < members[0]->rows; ++part) {
      std::vector<double> next;
      for (const Array* member : members) next.push_back((*member)(part, k));
      state = combined(reduction, state, next);
    }
    result(0, k) = state.size() == 2 ? state[0] + std::log(state[1]) : state[0];
  }
  return result;
}

inline double loss(const Graph& graph, const Arrays& in, const Arrays& weights) {
  const Arrays out = evaluate(graph, in);
  double sum = 0;
  for (size_t p = 0; p < graph.program.ports.size(); ++p) {
    if (is_input(graph.program.ports[p].kind)) continue;
    const Array value = finished_output(graph, p, out);
    const Array& weight = weights.at(graph.program.ports[p].name);
    for (size_t i = 0; i < value.values.size(); ++i) sum += value.values[i] * weight.values[i];
  }
  return sum;
}

// The inputs of the derived program.
inline Arrays derived_inputs(const RandomProgram& program, const Derived& derived,
                             const Arrays& weights) {
  const Graph& forward = program.graph;
  const Arrays out = evaluate(forward, program.in);
  Arrays in = program.in;
  for (size_t p = 0; p < forward.program.ports.size(); ++p) {
    const PortView& port = forward.program.ports[p];
    if (is_input(port.kind)) continue;
    in[port.name] = finished_output(forward, p, out);
    in["d" + port.name] = weights.at(port.name);
  }
  for (int i = 0; i < forward.program.accumulators; ++i) {
    const std::string member = forward.program.accumulators == 1 ? "" : std::to_string(i);
    in["accumulator" + member] = program.in.at(fmt::format("accumulator.{}", i));
  }
  if (derived.accumulator == "forward") return in;
  const Array& incoming = in.at(derived.accumulator);
  const bool halves = derived.graph.program.halves;
  constexpr int64_t kHalf = RandomProgramMaker::kHeadDim / 2;
  in["accumulator.0"] = halves ? half_of(incoming, kHalf, 0) : incoming;
  in["accumulator.1"] = halves ? half_of(incoming, kHalf, 1) : incoming;
  return in;
}

// The gradient of an input ("accumulator.0" too) in its shape, of what the derived program gives.
inline Array gradient_of(const Graph& forward, const std::string& name, const Arrays& in,
                         const Arrays& gradients) {
  constexpr int64_t kHalf = RandomProgramMaker::kHeadDim / 2;
  const Array& like = in.at(name);
  const auto given = [&](const std::string& output, const Array& otherwise) {
    const auto found = gradients.find(output);
    return found == gradients.end() ? otherwise : found->second;
  };
  if (name.starts_with("accumulator.")) {
    const int which = name.back() - '0';
    const ProgramView& program = forward.program;
    if (program.halves) {
      const Array both = given("daccumulator", Array(like.rows, 2 * like.columns));
      return half_of(both, kHalf, which);
    }
    return given(program.accumulators == 1 ? "daccumulator" : fmt::format("daccumulator{}", which),
                 Array(like.rows, like.columns));
  }
  const auto place = static_cast<size_t>(forward.port(name));
  const PortView& port = forward.program.ports[place];
  const std::string gradient = "d" + name;
  if (port.kind == PortKind::kPerElement) return given(gradient, Array(like.rows, like.columns));
  if (port.kind == PortKind::kPerColumn || port.kind == PortKind::kPerHead) {
    const auto summed = [&](const std::string& output) {
      const Array columns = column_sums(given(output, Array(1, RandomProgramMaker::kColumns)));
      if (port.kind == PortKind::kPerColumn) return columns;
      Array head(1, kHalf);
      for (int64_t j = 0; j < columns.columns; ++j) head(0, j % kHalf) += columns(0, j);
      return head;
    };
    return port.paired
               ? join_halves(summed(gradient + "_first"), summed(gradient + "_second"), kHalf)
               : summed(gradient);
  }
  const Array rows =
      gradients.contains(gradient + "_terms")
          ? transpose(row_sums(gradients.at(gradient + "_terms")))
          : column_sums(given(gradient, Array(1, RandomProgramMaker::kRows)));  // [1, M]
  if (port.kind == PortKind::kScalar) return row_sums(rows);
  if (port.kind == PortKind::kPerRow) return rows;
  Array result(like.rows, like.columns);  // of partials, through what finishes them
  const auto& finish = forward.facts[place].finish->finish;
  for (int64_t m = 0; m < like.columns; ++m) {
    double sum = 0;
    for (int64_t part = 0; part < like.rows; ++part) sum += like(part, m);
    const double step = 1e-6, slope = (finish({sum + step}) - finish({sum - step})) / (2 * step);
    for (int64_t part = 0; part < like.rows; ++part) result(part, m) = rows(0, m) * slope;
  }
  return result;
}

}  // namespace coda::trace
