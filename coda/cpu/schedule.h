// How a problem is cut into tiles, and its contraction into slices.
#pragma once
#include "coda/cpu/kernels.h"
#include "coda/program/problem.h"

namespace coda::cpu {

inline constexpr int64_t kBlockUnits = 384;  // depth of packed panels

struct Tile {
  int row_segment = 0, column_segment = 0;
  int64_t row = 0, column = 0;  // within the segment
  int64_t rows = 0, columns = 0;
};

struct Schedule {
  const Problem* problem = nullptr;
  int64_t tile_rows = 0, tile_columns = 0;
  int64_t blocks = 0;  // of the contraction
  int64_t slices = 1;  // that the blocks are dealt to

  int64_t tile_count() const;
  Tile tile(int64_t index) const;
};

// Tile shape: the cheapest by a count of multiplications and packed elements on the busiest thread;
// it does not change results. Slices do, and depend on the problem alone.
Schedule make_schedule(const Problem& problem, int accumulators, bool groups,
                       const Kernels& kernels, int threads);

}  // namespace coda::cpu
