#include "coda/cpu/schedule.h"

#include <algorithm>

namespace coda::cpu {
namespace {

// A contraction is sliced where the output is at most this large and each slice still has this many
// blocks.
constexpr int64_t kSplitArea = 256 * 256, kSliceBlocks = 4, kMaxSlices = 16;

int64_t tiles_along(const Segments& segments, int64_t size) {
  int64_t count = 0;
  for (int s = 0; s < segments.count; ++s) count += (segments.size(s) + size - 1) / size;
  return count;
}

// Tile `index` along one direction: its segment, and where it begins and ends within.
void locate(const Segments& segments, int64_t size, int64_t index, int& segment, int64_t& begin,
            int64_t& length) {
  segment = 0;
  for (int64_t count = 0; index >= (count = (segments.size(segment) + size - 1) / size); ++segment)
    index -= count;
  begin = index * size;
  length = std::min(size, segments.size(segment) - begin);
}

}  // namespace

int64_t Schedule::tile_count() const {
  return tiles_along(problem->rows, tile_rows) * tiles_along(problem->columns, tile_columns);
}

Tile Schedule::tile(int64_t index) const {
  Tile result;
  const int64_t along_rows = tiles_along(problem->rows, tile_rows);
  locate(problem->rows, tile_rows, index % along_rows, result.row_segment, result.row, result.rows);
  locate(problem->columns, tile_columns, index / along_rows, result.column_segment, result.column,
         result.columns);
  return result;
}

Schedule make_schedule(const Problem& problem, int accumulators, bool groups,
                       const Kernels& kernels, int threads) {
  Schedule best;
  best.problem = &problem;
  const int64_t block = kBlockUnits * kernels.unit;
  for (int s = 0; s < problem.contraction.count; ++s)
    best.blocks += (problem.contraction.size(s) + block - 1) / block;
  if (problem.M() * problem.N() <= kSplitArea)
    best.slices = std::clamp<int64_t>(best.blocks / kSliceBlocks, 1, kMaxSlices);

  // Tiles hold multiples of 64 rows and of 128 columns, the widest partials, or whole heads. Packed
  // panels of B, 512 rows at most, stay in the second-level cache; those of A pass through once.
  constexpr double kPackCost = 20;  // of a unit, in multiplications of units; measured on Zen 4
  constexpr int64_t kMaxRows = 1024, kMaxColumns = 512;
  const int64_t half = problem.head_dim / 2;
  double best_cost = 0;
  for (int64_t rows = 64; rows <= kMaxRows; rows += 64) {
    for (int64_t columns = kMaxColumns / accumulators; columns > 0; columns -= 128) {
      Schedule candidate = best;
      candidate.tile_rows = rows;
      candidate.tile_columns = groups ? std::max(half, columns / half * half) : columns;
      const auto busiest =
          static_cast<double>((candidate.tile_count() * best.slices + threads - 1) / threads);
      const auto height = static_cast<double>(rows),
                 width = static_cast<double>(accumulators * candidate.tile_columns);
      const double cost = busiest * (height * width + kPackCost * (height + width));
      if (best_cost == 0 || cost < best_cost) {
        best_cost = cost;
        best.tile_rows = candidate.tile_rows;
        best.tile_columns = candidate.tile_columns;
      }
    }
  }
  return best;
}

}  // namespace coda::cpu
