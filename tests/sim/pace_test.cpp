// Clusters that wait for each other at every tile: they keep together where all run at once, get
// done where they do not, and leave the counters for the next launch.
#include "coda/kernel/pace.h"

#include <algorithm>
#include <vector>

#include "tests/sim/expect_failure.h"

namespace coda::sim_test {
namespace {

constexpr uint32_t kClusters = 4, kTiles = 10;

// A cluster is a block here, and multiplies nothing. The last one may have a tile less.
struct Walk {
  uint32_t last_tiles = kTiles;
  mutable uint32_t tiles = 0, in_vain = 0;
  mutable std::vector<uint32_t> begun = std::vector<uint32_t>(kClusters);
  mutable uint32_t apart = 0;  // tiles that the first cluster was ever ahead of the last
  mutable bool waited_in_vain = false;

  void operator()() const {
    if (hw::thread_index() != 0) return;
    kernel::Grid grid;
    grid.clusters = kClusters;
    const kernel::Pace pace{&tiles, &in_vain};
    const uint32_t cluster = hw::block_index();
    const uint32_t own = cluster + 1 == kClusters ? last_tiles : kTiles;
    for (uint32_t i = 0; i < own; ++i) {
      kernel::keep_pace(grid, pace, i);
      waited_in_vain = waited_in_vain || in_vain != 0;
      begun[cluster] = i + 1;
      const auto [least, most] = std::ranges::minmax(begun);
      apart = std::max(apart, most - least);
    }
    kernel::leave_pace(grid, pace, cluster, own);
    begun[cluster] = kTiles;
  }
};

sim::Report run(const Walk& walk, uint64_t seed, int multiprocessors) {
  std::ranges::fill(walk.begun, 0u);
  walk.apart = 0;
  walk.waited_in_vain = false;
  return sim_test::run(Shape{.blocks = static_cast<int>(kClusters)}, walk,
                       {.seed = seed, .multiprocessors = multiprocessors});
}

// Where the seed starts them together.
TEST(Pace, NobodyRunsAhead) {
  int together = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Walk walk;
    run(walk, seed, kClusters);
    if (walk.waited_in_vain) continue;
    ++together;
    EXPECT_LE(walk.apart, 1u) << seed;
  }
  EXPECT_GE(together, 10);
}

TEST(Pace, EveryLaunchBeginsAtAMultiple) {
  const Walk walk{.last_tiles = kTiles - 1};
  for (uint32_t launch = 1; launch <= 20; ++launch) {
    run(walk, launch, launch % 2 == 0 ? kClusters : 1);
    EXPECT_EQ(walk.tiles, launch * kernel::kPaceTurn);
    EXPECT_EQ(walk.in_vain, 0u);
  }
}

// One after the other: the first would wait for those that have not begun, at each of its tiles.
TEST(Pace, WaitsInVainOnlyOnce) {
  const Walk walk;
  uint64_t loads = 0;
  for (const sim::SiteVisits& site : run(walk, 1, 1).sites) {
    if (site.site.instruction == "load_relaxed") loads += site.visits;
  }
  EXPECT_EQ(walk.apart, kTiles);
  EXPECT_LE(loads, kernel::kPacePolls + 2 * kClusters * kTiles);
}

}  // namespace
}  // namespace coda::sim_test
