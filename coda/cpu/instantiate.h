// Makes a program runnable on the CPU. Included by a file that coda_add_program compiles once per
// instruction set, and which says
//   template struct coda::cpu::Epilogue<MyProgram>;
#pragma once
#include "coda/cpu/tile.h"

namespace coda::cpu {

template <class Program, Isa kIsa = kThisIsa>
struct Epilogue;

namespace detail {

// Per-row values that are finished from partials: once per tile, with its first rows, in the order
// of the parts.
template <class Program, Isa kIsa, int kWidth>
HWY_INLINE void finish_rows(const Program& program, const TileRun& tile) {
  if (tile.begin > 0) return;
  const RowTile<Program, kIsa, kWidth> first(program, tile, 0, 0, 0);
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if constexpr (PortType::kKind == PortKind::kPerRowFrom) {
      if (!port.given) return;
      using Reduction = typename PortType::Finish::Reduction;
      const auto& view = port.view[0];
      using State = decltype(Reduction::template identity<float>());
      float* finished = first.scratch_of(port);
      constexpr int64_t kRowsAtOnce = 64;  // lines of partials are far apart: many rows of each
      for (int64_t row = 0; row < tile.rows; row += kRowsAtOnce) {
        const int64_t rows = tile.rows - row < kRowsAtOnce ? tile.rows - row : kRowsAtOnce;
        State state[kRowsAtOnce];
        for (State& one : state) one = Reduction::template identity<float>();
        for (int64_t part = 0; part < view.rows; ++part) {
          const auto* line = view.data + part * view.ld + first.global_row() + row;
          for (int64_t i = 0; i < rows; ++i) state[i] = Reduction::combine(state[i], line[i]);
        }
        for (int64_t i = 0; i < rows; ++i) finished[row + i] = port.finish.finish(state[i]);
      }
    }
  });
}

// Column reductions of the 64 rows that end here: from the running states to the partials.
template <class Program, Isa kIsa, int kWidth>
HWY_INLINE void write_column_partials(const Program& program, const TileRun& tile,
                                      int64_t last_row) {
  const RowTile<Program, kIsa, kWidth> first(program, tile, 0, 0, 0);
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if constexpr (PortType::kKind == PortKind::kColumnReduce) {
      if (!port.given) return;
      using State = typename PortType::State;
      const auto& view = port.view[0];
      const int64_t partial =
          partials_before(tile.problem->rows, tile.row_segment, PortType::kWidth) +
          (tile.row + last_row) / PortType::kWidth;
      const float* running = first.scratch_of(port);
      State* out = view.data + partial * view.ld + first.global_column();
      for (int64_t column = 0; column < tile.columns; ++column) {
        int i = 0;
        with_state_members(out[column], [&](auto&... member) {
          ((member = running[tile.accumulator_ld * i++ + column]), ...);
        });
      }
    }
  });
}

template <class Program, Isa kIsa, int kWidth>
HWY_INLINE void run_rows(const Program& program, const TileRun& tile, int64_t step) {
  finish_rows<Program, kIsa, kWidth>(program, tile);
  for (int64_t row = tile.begin; row < tile.end; ++row) {
    for (int64_t column = 0; column < tile.columns; column += step) {
      const int64_t left = tile.columns - column;
      RowTile<Program, kIsa, kWidth> view(program, tile, row, column,
                                          static_cast<int>(left < step ? left : step));
      program(view);
    }
    if ((row + 1) % kPartialWidth == 0 || row + 1 == tile.rows)
      write_column_partials<Program, kIsa, kWidth>(program, tile, row);
  }
}

}  // namespace detail

template <class Program, Isa kIsa>
void Epilogue<Program, kIsa>::run(const void* program_pointer, const TileRun& tile) {
  static_assert(check_program<Program>());
  static_assert(
      kIsa == kThisIsa,
      "coda: an epilogue is instantiated for the instruction set its file is compiled for");
  const Program& program = *static_cast<const Program*>(program_pointer);
  if constexpr (groups_of<Program>()) {
    const int64_t half = tile.problem->head_dim / 2;
    if (half > kPartialWidth) {
      return detail::run_rows<Program, kIsa, kMaxHeadDim / 2>(program, tile, half);
    }
    return detail::run_rows<Program, kIsa, kPartialWidth>(program, tile, half);
  } else {
    return detail::run_rows<Program, kIsa, kPartialWidth>(program, tile, kPartialWidth);
  }
}

}  // namespace coda::cpu
