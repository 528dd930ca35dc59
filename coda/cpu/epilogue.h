// What the GEMM loop hands to a program: a finished tile of accumulators, and where it lies in the
// problem.
#pragma once
#include "coda/cpu/isa.h"
#include "coda/program/problem.h"

namespace coda::cpu {

struct TileRun {
  const Problem* problem = nullptr;
  const float* accumulator[2] = {};  // [rows, columns], each row readable up to accumulator_ld
  int64_t accumulator_ld = 0;
  int64_t row = 0, column = 0;  // first ones, within their segments
  int64_t rows = 0, columns = 0;
  int64_t begin = 0, end = 0;  // the rows to apply the program to now, in ascending order
  int row_segment = 0, column_segment = 0;
  float* scratch = nullptr;  // scratch_floats() of them
};

// Partials of the segments before one.
CODA_HD int64_t partials_before(const Segments& segments, int segment, int width) {
  int64_t count = 0;
  for (int s = 0; s < segment; ++s) count += (segments.size(s) + width - 1) / width;
  return count;
}

using EpilogueFunction = void (*)(const void* program, const TileRun& tile);

// Applies the program to a tile. Defined in instantiate.h, in a file that is compiled once per
// instruction set.
template <class Program, Isa kIsa>
struct Epilogue {
  static void run(const void* program, const TileRun& tile);
};

// Asks for what the program will read and write in `columns` of the tile from `first` on. Defined
// in prefetch.h.
using PrefetchFunction = void (*)(const void* program, const TileRun& tile, int64_t first,
                                  int64_t columns);
template <class Program>
void prefetch_ports(const void* program, const TileRun& tile, int64_t first, int64_t columns);

// How a program is run, whatever its type.
struct ProgramRun {
  const void* program = nullptr;
  EpilogueFunction epilogue[3] = {};  // by Isa
  PrefetchFunction prefetch = nullptr;
  bool groups = false;          // it is handed whole heads
  int64_t scratch_per_row = 0;  // floats
  int64_t scratch_per_column = 0;
};

namespace detail {
template <class State>
inline constexpr int kStateFloats = sizeof(State) / sizeof(float);

// Scratch of one port: a finished value per row of the tile, or a running state per column.
template <class PortType>
constexpr int scratch_per_row() {
  return PortType::kKind == PortKind::kPerRowFrom ? 1 : 0;
}
template <class PortType>
constexpr int scratch_per_column() {
  if constexpr (PortType::kKind == PortKind::kColumnReduce) {
    return kStateFloats<typename PortType::State>;
  } else {
    return 0;
  }
}
}  // namespace detail

template <class P>
ProgramRun program_run(const P& program) {
  ProgramRun result;
  result.program = &program;
  result.prefetch = &prefetch_ports<P>;
  result.groups = groups_of<P>();
  [&]<int... kIsa>(std::integer_sequence<int, kIsa...>) {
    ((result.epilogue[kIsa] = &Epilogue<P, static_cast<Isa>(kIsa)>::run), ...);
  }(std::make_integer_sequence<int, kIsaCount>{});
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    result.scratch_per_row += detail::scratch_per_row<PortType>();
    result.scratch_per_column += detail::scratch_per_column<PortType>();
  });
  return result;
}

}  // namespace coda::cpu
