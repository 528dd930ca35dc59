#include "coda/plan/grid.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace coda::plan {
namespace {

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }

kernel::Axis make_axis(const Segments& segments, int tile, uint32_t& tiles) {
  kernel::Axis axis;
  axis.segments = segments.count;
  int partials = 0, wide_partials = 0;
  tiles = 0;
  for (int s = 0; s < segments.count; ++s) {
    axis.size[s] = static_cast<int>(segments.size(s));
    axis.origin[s] = segments.begin[s];
    axis.partial[s] = partials;
    axis.wide_partial[s] = wide_partials;
    axis.first_tile[s] = static_cast<int>(tiles);
    partials += divide_up(segments.size(s), kPartialWidth);
    wide_partials += divide_up(segments.size(s), 2 * kPartialWidth);
    tiles += static_cast<uint32_t>(divide_up(segments.size(s), tile));
  }
  return axis;
}

// Clusters drift apart over the contraction of many tiles. With less than this they still find in
// L2 what others have read, or enough of it: small tiles read the most.
constexpr int64_t kPacedWalk = 1 << 18;
constexpr int64_t paced_contraction(const kernel::TileConfig& config) {
  return config.rows * config.columns > 128 * 128 ? 16384 : 8192;
}

bool drifts(const kernel::Grid& grid, const kernel::TileConfig& config) {
  const int64_t contraction = int64_t{grid.depth_blocks} * kernel::kBlockDepth;
  const int64_t walk = contraction * divide_up(grid.units, std::max(grid.clusters, 1u));
  return contraction >= paced_contraction(config) && walk >= kPacedWalk && grid.clusters > 1 &&
         grid.clusters <= kernel::kMostPaced;
}

// Sets apart the tiles of the last column where they have less to multiply. Each costs as much of a
// whole one as it has columns, and A's part besides: two of 64 columns in 192, or one of 128, are
// about a whole one. Not where clusters wait for each other: they would for whoever has one more.
void set_narrow_apart(kernel::Grid& grid, const kernel::TileConfig& config, int accumulators) {
  if (!kernel::narrows(config, accumulators) || grid.slices > 1 || grid.paced != 0) return;
  if (grid.columns.segments > 1 || grid.column_tiles < 2) return;
  const int inside = (grid.columns.size[0] % config.columns + 63) / 64 * 64;
  if (inside == 0 || inside >= config.columns) return;
  grid.narrow = grid.row_tiles;
  grid.first_short = (grid.tiles - grid.narrow) % grid.clusters;
  grid.made_up = (grid.clusters - grid.first_short) * (3 * inside <= config.columns ? 2 : 1);
}

// The tiles in flight form a patch of `group` rows: the one that touches the least of A and B. But
// a round of clusters does not end where a group does: it reaches into the next one, all of whose
// rows are read twice then. Where a row has few tiles it is better to walk row by row.
uint32_t choose_group(const kernel::Grid& grid, const ClusterTile& tile, int accumulators) {
  constexpr uint32_t kMost = 64;
  const uint32_t in_flight = std::min(grid.clusters, grid.tiles);
  const int64_t columns = int64_t{tile.columns} * accumulators;
  uint32_t best = 1;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t n = 1; n <= std::min(grid.row_tiles, kMost); ++n) {
    const int64_t touched = int64_t{n} * tile.rows + divide_up(in_flight, n) * columns;
    if (touched < least) {
      least = touched;
      best = n;
    }
  }
  if (2 * grid.row_tiles <= 3 * best) {
    return std::max(grid.row_tiles, 1u);  // no few rows left in the end
  }
  const auto of_a_round = [&](uint32_t n) {
    return (n + in_flight / std::max(grid.column_tiles, 1u)) * int64_t{tile.rows} +
           std::min(grid.column_tiles, in_flight / n + 1) * columns;
  };
  return of_a_round(1) < of_a_round(best) ? 1 : best;
}

}  // namespace

ClusterTile cluster_tile(const kernel::TileConfig& config, int accumulators) {
  return {config.rows * config.cluster_rows,
          config.columns / accumulators * config.cluster_columns};
}

int clusters_at_once(const kernel::TileConfig& config, int multiprocessors) {
  return std::max(multiprocessors / (config.cluster_rows * config.cluster_columns), 1);
}

kernel::Grid make_grid(const Problem& problem, const kernel::TileConfig& config, int accumulators,
                       int active_clusters, const Slicing& slicing) {
  const ClusterTile tile = cluster_tile(config, accumulators);
  kernel::Grid grid;
  grid.rows = make_axis(problem.rows, tile.rows, grid.row_tiles);
  grid.columns = make_axis(problem.columns, tile.columns, grid.column_tiles);
  grid.half = static_cast<int>(problem.head_dim / 2);
  if (grid.half > 0) grid.over_half = divide_up(1 << 16, grid.half);
  grid.half_lines = std::gcd(grid.half, config.columns / accumulators);
  grid.depth_segments = problem.contraction.count;
  for (int s = 0; s < problem.contraction.count; ++s) {
    grid.depth[s] = static_cast<int>(problem.contraction.size(s));
    grid.depth_blocks += divide_up(problem.contraction.size(s), kernel::kBlockDepth);
  }
  grid.tiles = grid.row_tiles * grid.column_tiles;
  grid.slices = static_cast<uint32_t>(slicing.slices);
  grid.slice_blocks = divide_up(grid.depth_blocks, slicing.slices);
  const uint32_t cut = slicing.slices > 1 ? std::min(slicing.tiles, grid.tiles) : 0;
  grid.uncut = grid.tiles - cut;
  grid.units = grid.uncut + cut * grid.slices;
  grid.clusters = std::min(grid.units, static_cast<uint32_t>(active_clusters));
  grid.group = choose_group(grid, tile, accumulators);
  grid.paced = drifts(grid, config) ? 1 : 0;
  set_narrow_apart(grid, config, accumulators);
  return grid;
}

}  // namespace coda::plan
