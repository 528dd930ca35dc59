// Every tile of a problem is somebody's exactly once, whatever its segments, the clusters and the
// groups.
#include "coda/plan/grid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "coda/kernel/walk.h"

namespace coda::plan {
namespace {

using kernel::kTileConfigs;

Segments draw_segments(int count, int64_t most) {
  Segments result{count, {}};
  for (int s = 0; s < count; ++s) {
    result.begin[s + 1] = result.begin[s] + *rc::gen::inRange<int64_t>(0, most);
  }
  return result;
}

Problem draw_problem() {
  Problem problem;
  const int count = *rc::gen::inRange(1, kMaxSegments + 1);
  const bool rows = *rc::gen::arbitrary<bool>();
  problem.rows = draw_segments(rows ? count : 1, 3000);
  problem.columns = draw_segments(rows ? 1 : count, 3000);
  problem.contraction = draw_segments(*rc::gen::inRange(1, kMaxSegments + 1), 500);
  return problem;
}

// 16384 rows, and nothing in segments.
Problem whole_problem(int64_t N, int64_t K) {
  Problem problem;
  problem.rows = {1, {0, 16384}};
  problem.columns = {1, {0, N}};
  problem.contraction = {1, {0, K}};
  return problem;
}

std::vector<uint32_t> units_of(const kernel::Grid& grid, uint32_t cluster) {
  std::vector<uint32_t> units;
  for (uint32_t i = 0;; ++i) {
    const uint32_t number = grid.narrow > 0 ? kernel::unit_number<true>(grid, cluster, i)
                                            : kernel::unit_number<false>(grid, cluster, i);
    if (number >= grid.units) return units;
    units.push_back(number);
  }
}

RC_GTEST_PROP(Grid, VisitsEveryTileOnce, ()) {
  const Problem problem = draw_problem();
  const auto& config = *rc::gen::elementOf(
      std::vector<kernel::TileConfig>(std::begin(kTileConfigs), std::end(kTileConfigs)));
  const int accumulators = *rc::gen::inRange(1, 3);
  const int active = *rc::gen::inRange(1, 140);
  const kernel::Grid grid = make_grid(problem, config, accumulators, active);
  const ClusterTile tile = cluster_tile(config, accumulators);

  std::set<std::tuple<int, int, int, int>> seen;
  uint32_t visits = 0;
  for (uint32_t cluster = 0; cluster < grid.clusters; ++cluster) {
    for (const uint32_t t : units_of(grid, cluster)) {
      ++visits;
      const kernel::TilePlace place = kernel::tile_place(grid, t, tile.rows, tile.columns);
      RC_ASSERT(place.row >= 0 && place.row % tile.rows == 0);
      RC_ASSERT(place.row < problem.rows.size(place.row_segment));
      RC_ASSERT(place.column >= 0 && place.column % tile.columns == 0);
      RC_ASSERT(place.column < problem.columns.size(place.column_segment));
      seen.insert({place.row_segment, place.column_segment, place.row, place.column});
    }
  }
  int64_t wanted = 0;
  for (int i = 0; i < problem.rows.count; ++i) {
    for (int j = 0; j < problem.columns.count; ++j) {
      wanted += ((problem.rows.size(i) + tile.rows - 1) / tile.rows) *
                ((problem.columns.size(j) + tile.columns - 1) / tile.columns);
    }
  }
  RC_ASSERT(visits == static_cast<uint32_t>(wanted));
  RC_ASSERT(static_cast<int64_t>(seen.size()) == wanted);
}

RC_GTEST_PROP(Grid, HasNoMoreClustersThanTilesOrRoom, ()) {
  const Problem problem = draw_problem();
  const int active = *rc::gen::inRange(1, 140);
  const kernel::Grid grid = make_grid(problem, kTileConfigs[0], 1, active);
  RC_ASSERT(grid.clusters <= static_cast<uint32_t>(active));
  RC_ASSERT(grid.clusters <= grid.tiles);
  RC_ASSERT(grid.tiles == 0 || grid.clusters > 0);
  RC_ASSERT(grid.group >= 1);
}

RC_GTEST_PROP(Grid, CountsBlocksOfTheContractionBySegment, ()) {
  const Problem problem = draw_problem();
  const kernel::Grid grid = make_grid(problem, kTileConfigs[0], 1, 66);
  int blocks = 0;
  for (int s = 0; s < problem.contraction.count; ++s) {
    RC_ASSERT(grid.depth[s] == problem.contraction.size(s));
    blocks += (grid.depth[s] + kernel::kBlockDepth - 1) / kernel::kBlockDepth;
  }
  RC_ASSERT(grid.depth_blocks == blocks);
}

TEST(Grid, PartialsBeginAnewWithEverySegment) {
  Problem problem;
  problem.rows = {1, {0, 100}};
  problem.columns = {3, {0, 65, 65, 200}};
  problem.contraction = {1, {0, 64}};
  const kernel::Grid grid = make_grid(problem, kTileConfigs[0], 1, 66);
  EXPECT_EQ(grid.columns.partial[0], 0);
  EXPECT_EQ(grid.columns.partial[1], 2);
  EXPECT_EQ(grid.columns.partial[2], 2);
  EXPECT_EQ(grid.columns.wide_partial[1], 1);
  EXPECT_EQ(grid.columns.origin[2], 65);
  EXPECT_EQ(grid.column_tiles, 1u + 0u + 2u);
}

// At N = 2048, 4096, 5632, 8192, 11008: 64 narrow tiles of 128, 64, 64, 128, 64 columns and as many
// whole ones as 66 clusters cannot divide. None has more to do than it must.
TEST(Grid, NarrowTilesGoWhereWholeOnesAreMissing) {
  constexpr struct {
    int64_t N;
    double most;
  } kCases[] = {{2048, 10 + 2 / 3.0}, {4096, 21}, {5632, 29}, {8192, 41 + 2 / 3.0}, {11008, 56}};
  for (const auto& [N, most] : kCases) {
    const Problem problem = whole_problem(N, 4096);
    const kernel::Grid grid = make_grid(problem, kTileConfigs[2], 1, 66);
    EXPECT_EQ(grid.narrow, 64u);
    const double share = static_cast<double>(N % 192) / 192;
    double longest = 0;
    for (uint32_t cluster = 0; cluster < grid.clusters; ++cluster) {
      double work = 0;
      for (const uint32_t t : units_of(grid, cluster)) {
        work += t < grid.tiles - grid.narrow ? 1 : share;
      }
      longest = std::max(longest, work);
    }
    EXPECT_LE(longest, most + 1e-9) << N;
  }
}

// A narrow tile is taken while its rows of A are: at most two groups of tile rows away.
TEST(Grid, NarrowTilesAreTakenWithTheirRows) {
  const Problem problem = whole_problem(4096, 4096);
  const kernel::Grid grid = make_grid(problem, kTileConfigs[2], 1, 66);
  const ClusterTile tile = cluster_tile(kTileConfigs[2], 1);
  const auto row_of = [&](uint32_t t) {
    return kernel::tile_place(grid, t, tile.rows, tile.columns).row / tile.rows;
  };
  for (uint32_t cluster = 0; cluster < grid.clusters; ++cluster) {
    const std::vector<uint32_t> units = units_of(grid, cluster);
    for (size_t i = 1; i < units.size(); ++i) {
      EXPECT_LE(std::abs(row_of(units[i]) - row_of(units[i - 1])),
                2 * static_cast<int>(grid.group));
    }
  }
}

// Where a row has few tiles, 66 tiles are in as few rows as can be, wherever a round begins:
// a row that two rounds share is read twice.
TEST(Grid, RoundsShareFewRows) {
  const Problem problem = whole_problem(2048, 8192);
  for (const int config : {0, 2, 5}) {
    const kernel::Grid grid = make_grid(problem, kTileConfigs[config], 1, 66);
    const ClusterTile tile = cluster_tile(kTileConfigs[config], 1);
    const uint32_t whole = grid.tiles - grid.narrow;
    const uint32_t in_row = grid.column_tiles - (grid.narrow > 0 ? 1 : 0);
    for (uint32_t first = 0; first < whole; first += 66) {
      std::set<int> rows;
      for (uint32_t t = first; t < std::min(first + 66, whole); ++t) {
        rows.insert(kernel::tile_place(grid, t, tile.rows, tile.columns).row);
      }
      EXPECT_LE(rows.size(), 66 / in_row + 2) << config << ", " << first;
    }
  }
}

// Eight rows of tiles are one group, not six and two.
TEST(Grid, NoGroupOfFewRowsIsLeft) {
  Problem problem = whole_problem(8192, 16384);
  problem.rows = {1, {0, 2048}};
  EXPECT_EQ(make_grid(problem, kTileConfigs[5], 1, 66).group, 8u);
}

// Over many tiles of long contractions, from 8192 on those of 128 × 128; narrow tiles are in the
// walk then.
TEST(Grid, ClustersKeepTogetherWhereTheyWouldDrift) {
  const auto paced = [](int64_t N, int64_t K, int config) {
    const kernel::Grid grid = make_grid(whole_problem(N, K), kTileConfigs[config], 1, 66);
    EXPECT_TRUE(grid.paced == 0 || grid.narrow == 0) << N << " x " << K;
    return grid.paced != 0;
  };
  EXPECT_TRUE(paced(8192, 22016, 2));
  EXPECT_TRUE(paced(8192, 8192, 0));
  EXPECT_FALSE(paced(8192, 8192, 2));
  EXPECT_FALSE(paced(2048, 16384, 2));
  EXPECT_FALSE(paced(44032, 4096, 0));
}

// Tiles taken at the same time are neighbours: 64 of them touch few rows of A and B.
TEST(Grid, TilesInFlightFormAPatch) {
  const Problem problem = whole_problem(8192, 8192);
  const kernel::Grid grid = make_grid(problem, kTileConfigs[0], 1, 66);
  const ClusterTile tile = cluster_tile(kTileConfigs[0], 1);
  std::set<int> rows, columns;
  for (uint32_t t = 0; t < grid.clusters; ++t) {
    const kernel::TilePlace place = kernel::tile_place(grid, t, tile.rows, tile.columns);
    rows.insert(place.row);
    columns.insert(place.column);
  }
  const auto touched = static_cast<int64_t>(rows.size()) * tile.rows +
                       static_cast<int64_t>(columns.size()) * tile.columns;
  EXPECT_LE(touched, 3200);  // a square patch would touch 2 · √(66 · 256 · 128) = 2941
}

}  // namespace
}  // namespace coda::plan
