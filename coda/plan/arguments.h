// A launch's arguments: tensor maps of operands and tile ports, the program, the grid. The same for
// the GPU and for the simulator, which encode tensor maps differently.
#pragma once
#include "coda/kernel/arguments.h"
#include "coda/plan/grid.h"
#include "coda/plan/map_request.h"

namespace coda::plan {

inline namespace CODA_TARGET {

namespace detail {

// Part of an operand as lines: along the contraction, or along its rows.
inline MapRequest lines_of(const TensorView& view, int box_columns, int box_lines) {
  return {view.data,   view.dtype, view.line(), view.lines(), view.ld * view.element_bytes,
          box_columns, box_lines};
}

// The part of a tile port that a segment of the output covers.
template <class P>
MapRequest segment_of(const P& port, const Problem& problem, int segment, int box_columns,
                      int box_lines) {
  using T = typename P::Element;
  const auto& view = port.view[P::kSegments > 1 ? segment : 0];
  const bool by_rows = problem.rows.count > 1;
  const int row_segment = by_rows ? segment : 0, column_segment = by_rows ? 0 : segment;
  const int64_t row = P::kSegments > 1 ? 0 : problem.rows.begin[row_segment];
  constexpr int64_t kPairs = P::kPaired ? 2 : 1;
  const int64_t column = P::kSegments > 1 ? 0 : kPairs * problem.columns.begin[column_segment];
  return {view.data + row * view.ld + column,
          dtype_of<T>,
          kPairs * problem.columns.size(column_segment),
          problem.rows.size(row_segment),
          view.ld * static_cast<int64_t>(sizeof(T)),
          box_columns,
          box_lines};
}

}  // namespace detail

// encode(map, request) fills one tensor map.
template <class K, class Encode>
kernel::Arguments<typename K::Program> make_arguments(const typename K::Program& program,
                                                      const Problem& problem, const OperandView& a,
                                                      const OperandView& b,
                                                      const kernel::Grid& grid, Encode&& encode) {
  using kernel::OperandMajor;
  kernel::Arguments<typename K::Program> arguments{};
  arguments.program = program;
  arguments.grid = grid;
  constexpr bool kLinesA = K::kA == OperandMajor::kContraction;
  constexpr bool kLinesB = K::kB == OperandMajor::kContraction;
  const int share_b = K::kHalves              ? grid.half_lines
                      : K::kAccumulators == 2 ? K::kColumns
                                              : K::kColumns / K::kClusterRows;
  for (int s = 0; s < a.segments; ++s) {
    encode(arguments.a[s],
           detail::lines_of(a.part[0][s], 64, kLinesA ? K::kRows / K::kClusterColumns : 64));
  }
  for (int i = 0; i < K::kAccumulators; ++i) {
    for (int s = 0; s < b.segments; ++s) {
      encode(arguments.b[i][s],
             detail::lines_of(b.part[i][s], 64, kLinesB ? share_b : K::kBoxDepthB));
    }
  }
  const int segments = problem.rows.count * problem.columns.count;
  for_each_port(program, [&](const auto& port, auto index) {
    using P = std::remove_cvref_t<decltype(port)>;
    if constexpr (P::kKind == PortKind::kPerElement || P::kKind == PortKind::kStore) {
      if (!port.given) return;
      for (int s = 0; s < segments; ++s) {
        encode(arguments.port[index][s],
               detail::segment_of(port, problem, s, K::kSubColumns,
                                  P::kKind == PortKind::kStore ? 16 : 64));
      }
    }
  });
  return arguments;
}

}  // namespace CODA_TARGET
}  // namespace coda::plan
