// The real kernel with its contraction in slices: right sums, the same bits whoever comes last, and
// nothing that orders the slices can be left out.
#include <set>

#include "tests/sim/sliced_kernel.h"

namespace coda::sim_test {
namespace {

template <int kTile, uint32_t kGiven = 0>
using Kernel = plan::WeightGrad<Program, bf16, kTile, kGiven>;
using Pingpong = Kernel<0>;
constexpr uint32_t kC = 1 << 1;
using PingpongAdding = Kernel<1, kC>;
using Wide = Kernel<4>;
using WideAdding = Kernel<4, kC>;
using TallAdding = Kernel<5, kC>;
using NarrowingAdding = Kernel<3, kC>;  // ragged tiles are multiplied in fewer steps
using Large = Kernel<6>;                // 192 accumulators per thread

template <class K>
void expect_exact(SlicedProblem problem, int multiprocessors = 4) {
  problem.integers = true;
  SlicedKernel<K> kernel(problem);
  const std::vector<float> got = kernel.run({.seed = 7, .multiprocessors = multiprocessors});
  for (int64_t m = 0; m < problem.M; ++m) {
    for (int64_t n = 0; n < problem.N; ++n) {
      ASSERT_EQ(got[static_cast<size_t>(m * problem.N + n)], kernel.exact(m, n))
          << "row " << m << ", column " << n << ", " << problem.slices << " slices";
    }
  }
}

template <class K>
void expect_same_bits(const SlicedProblem& problem) {
  SlicedKernel<K> kernel(problem);
  const std::vector<float> first = kernel.run({.seed = 1});
  for (uint64_t seed = 2; seed <= 6; ++seed) {
    EXPECT_EQ(kernel.run({.seed = seed}), first) << "seed " << seed;
  }
  EXPECT_EQ(kernel.run({.seed = 1, .policy = sim::Policy::kLazy}), first);
  EXPECT_EQ(kernel.run({.seed = 1, .multiprocessors = 2}), first);
}

TEST(Slices, AddUpToTheProduct) {
  for (const int slices : {1, 2, 3, 5}) {
    expect_exact<Pingpong>({.M = 200, .N = 72, .depths = {5 * 64 + 24}, .slices = slices});
  }
}

// More slices than blocks: some have nothing to multiply.
TEST(Slices, MayBeEmpty) {
  expect_exact<Pingpong>({.M = 64, .N = 32, .depths = {130}, .slices = 5});
  expect_exact<WideAdding>({.M = 64, .N = 32, .depths = {0}, .slices = 2, .adds = true});
}

TEST(Slices, AddToWhatIsThere) {
  expect_exact<PingpongAdding>(
      {.M = 256, .N = 132, .depths = {400}, .slices = 3, .adds = true, .clusters = 2});
  expect_exact<WideAdding>({.M = 300, .N = 136, .depths = {400}, .slices = 2, .adds = true});
  expect_exact<TallAdding>({.M = 130, .N = 300, .depths = {400}, .slices = 5, .adds = true});
}

// Units of both consumers, of unequal length, one after the other in few blocks.
TEST(Slices, OfSeveralTilesPerBlock) {
  expect_exact<Pingpong>({.M = 600, .N = 200, .depths = {330}, .slices = 5}, 2);
  expect_exact<PingpongAdding>(
      {.M = 600, .N = 200, .depths = {330}, .slices = 2, .adds = true, .clusters = 2});
  expect_exact<Wide>({.M = 300, .N = 500, .depths = {330}, .slices = 3}, 2);
  expect_exact<Large>({.M = 300, .N = 200, .depths = {330}, .slices = 3}, 2);
}

// Whole tiles first, so that both consumers go on with slices after them; then those of the last
// tiles alone, in rounds of their own.
TEST(Slices, OfTheLastTilesOnly) {
  // Three or five whole units of two clusters come before.
  expect_exact<Pingpong>(
      {.M = 600, .N = 200, .depths = {330}, .slices = 3, .clusters = 2, .cut = 2});
  expect_exact<Pingpong>({.M = 600, .N = 200, .depths = {330}, .slices = 5, .cut = 1}, 2);
  expect_exact<PingpongAdding>(
      {.M = 600, .N = 200, .depths = {330}, .slices = 2, .adds = true, .clusters = 2, .cut = 3});
  expect_exact<WideAdding>(
      {.M = 500, .N = 500, .depths = {330}, .slices = 3, .adds = true, .clusters = 2, .cut = 2});
  expect_exact<TallAdding>(
      {.M = 300, .N = 500, .depths = {330}, .slices = 2, .adds = true, .cut = 1});
  expect_exact<Large>({.M = 300, .N = 400, .depths = {330}, .slices = 3, .cut = 1}, 2);
  expect_exact<NarrowingAdding>(
      {.M = 600, .N = 248, .depths = {330}, .slices = 3, .adds = true, .clusters = 2, .cut = 2});
  expect_same_bits<Pingpong>(
      {.M = 600, .N = 200, .depths = {330}, .slices = 3, .clusters = 2, .cut = 2});
}

// A slice begins in one segment and ends in another.
TEST(Slices, CrossSegmentsOfTheContraction) {
  expect_exact<Pingpong>({.M = 100, .N = 40, .depths = {100, 20, 0, 200}, .slices = 3});
}

TEST(Slices, GiveTheSameBitsInEveryOrder) {
  expect_same_bits<Pingpong>({.M = 256, .N = 64, .depths = {500}, .slices = 5, .clusters = 3});
  expect_same_bits<TallAdding>(
      {.M = 256, .N = 64, .depths = {500}, .slices = 3, .adds = true, .clusters = 2});
}

// From the first to the last: as if each slice were a product of its own.
TEST(Slices, AreAddedInOrder) {
  constexpr int64_t kDepth = 128;  // of a slice
  const SlicedProblem problem{
      .M = 64, .N = 40, .depths = {kDepth, kDepth, kDepth}, .slices = 3, .clusters = 2};
  SlicedKernel<Pingpong> kernel(problem);
  const std::vector<float> got = kernel.run({.seed = 3});
  std::vector<float> sum(got.size(), 0.0f);
  for (size_t s = 0; s < problem.depths.size(); ++s) {
    const std::vector<float> one = kernel.run_segment(s, {.seed = 1});
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  EXPECT_EQ(got, sum);
}

// Sites with something to drop.
std::vector<sim::Site> droppable(const sim::Report& report) {
  std::vector<sim::Site> result;
  for (const sim::SiteVisits& entry : report.sites) {
    if (!sim::mutations_of(entry.site).empty()) result.push_back(entry.site);
  }
  return result;
}

// How it is noticed within a few schedules that a site is dropped; empty: it is not.
template <class K>
std::string noticed(SlicedKernel<K>& kernel, const sim::Site& site, uint64_t max_switches,
                    const std::vector<float>& right) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    try {
      const sim::LaunchOptions options{
          .seed = seed, .mutation = sim::Mutation{site}, .max_switches = max_switches};
      if (kernel.run(options) != right) return "other results";
    } catch (const sim::Failure& failure) {
      return failure.what();
    }
  }
  return "";
}

// Whatever only slices need is dropped, one at a time. Which instructions that were.
template <class K>
std::multiset<std::string> drop_what_slices_need(bool adds) {
  // Three tiles of two clusters: a unit of each consumer, and slices from both clusters.
  SlicedProblem problem{.M = 600, .N = 40, .depths = {200}, .slices = 1, .adds = adds};
  problem.integers = true;
  problem.clusters = 2;
  SlicedKernel<K> whole(problem);
  whole.run({.seed = 1});
  const std::vector<sim::Site> known = droppable(whole.report);
  problem.slices = 3;
  SlicedKernel<K> kernel(problem);
  const std::vector<float> right = kernel.run({.seed = 1});
  const sim::Report report = kernel.report;
  std::multiset<std::string> dropped;
  for (const sim::Site& site : droppable(report)) {
    if (std::ranges::count(known, site) > 0) continue;
    dropped.insert(site.instruction);
    EXPECT_NE(noticed(kernel, site, 100 * report.switches + 1000000, right), "")
        << sim::describe(site);
  }
  return dropped;
}

TEST(Slices, NeedEveryFenceCountAndBarrier) {
  const std::multiset<std::string> expected{"atomic_add", "fence_gpu", "fence_gpu", "warp_sync",
                                            "warp_sync"};
  EXPECT_EQ(drop_what_slices_need<Pingpong>(false), expected);
  EXPECT_EQ(drop_what_slices_need<Wide>(false), expected);
}

// The inputs that they do not use come and go all the same.
TEST(Slices, GiveInputsBack) {
  const std::multiset<std::string> expected{"atomic_add",      "fence_gpu",     "fence_gpu",
                                            "mbarrier_arrive", "mbarrier_wait", "warp_sync",
                                            "warp_sync",       "warp_sync"};
  EXPECT_EQ(drop_what_slices_need<PingpongAdding>(true), expected);
  EXPECT_EQ(drop_what_slices_need<TallAdding>(true), expected);
}

}  // namespace
}  // namespace coda::sim_test
