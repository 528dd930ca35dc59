// Brings the lines that a program will read and write into the cache while its accumulators are
// still being multiplied.
#pragma once
#include <algorithm>

#include "coda/cpu/epilogue.h"
#include "coda/cpu/head_runs.h"
#include "coda/cpu/touch.h"
#include "coda/program/reflect.h"

namespace coda::cpu {

template <class P>
void prefetch_ports(const void* program, const TileRun& tile, int64_t first, int64_t columns) {
  constexpr int64_t kLine = 64;
  const int64_t half = tile.problem->head_dim / 2;
  for_each_port(*static_cast<const P*>(program), [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    constexpr bool kStore = PortType::kKind == PortKind::kStore;
    if constexpr (kStore || PortType::kKind == PortKind::kPerElement) {
      if (!port.given) return;
      int64_t row = tile.row, column = tile.column + first;
      int segment = tile.row_segment + tile.column_segment;
      if constexpr (PortType::kSegments == 1) {  // addressed as a whole
        row += tile.problem->rows.begin[tile.row_segment];
        column += tile.problem->columns.begin[tile.column_segment];
        segment = 0;
      }
      if constexpr (PortType::kPaired) column = head_column(half, column).among_heads(half);
      const auto& view = port.view[segment];
      const int64_t bytes =
          std::min(columns, tile.columns - first) * static_cast<int64_t>(sizeof(*view.data));
      for (int64_t i = tile.begin; i < tile.end; ++i) {
        const auto* line = view.data + (row + i) * view.ld + column;
        if (first == 0) touch(line);
        for (int64_t at = 0; at < bytes; at += kLine) {
          __builtin_prefetch(reinterpret_cast<const char*>(line) + at, kStore, 2);
          if constexpr (PortType::kPaired)
            __builtin_prefetch(reinterpret_cast<const char*>(line + half) + at, kStore, 2);
        }
      }
    }
  });
}

}  // namespace coda::cpu
