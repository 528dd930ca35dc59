// Mutations of call sites: every one of a small GEMM kernel is tried, nearly all must be noticed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "tests/sim/gemm_problem.h"

namespace coda::sim_test {

namespace {

constexpr uint64_t kSeeds = 3;

// What notices a mutation: a failure, or a wrong result.
std::string caught(const sim::Mutation& mutation) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Problem<bf16> problem(256, 128, 256);
    try {
      problem.run({.seed = seed, .mutation = mutation});
    } catch (const sim::Failure& failure) {
      return failure.what();
    }
    const std::string wrong = problem.first_wrong();
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(Mutation, SitesAreListed) {
  Problem<bf16> problem(256, 128, 256);
  const sim::Report report = problem.run({.seed = 1});
  std::map<std::string, uint64_t> visits;
  std::set<std::string> functions;
  for (const sim::SiteVisits& entry : report.sites) {
    visits[entry.site.instruction] += entry.visits;
    EXPECT_EQ(entry.site.file, "tests/sim/gemm_kernel.h");
    EXPECT_GT(entry.site.line, 0u);
    functions.insert(entry.site.function);
  }
  EXPECT_EQ(visits["mbarrier_arrive_expect"], 8u);
  EXPECT_EQ(visits["wgmma_commit"], 8u * 256);
  EXPECT_EQ(visits["bulk_commit"], 2u * 2 * 8);
  EXPECT_EQ(visits["block_sync"], 384u);
  EXPECT_TRUE(functions.contains("consume")) << fmt::format("{}", fmt::join(functions, " "));
}

TEST(Mutation, NearlyAllAreCaught) {
  Problem<bf16> problem(256, 128, 256);
  const sim::Report report = problem.run({.seed = 1});
  int all = 0, found = 0;
  for (const sim::SiteVisits& entry : report.sites) {
    for (sim::MutationKind kind : sim::mutations_of(entry.site)) {
      const std::string how = caught({entry.site, kind});
      ++all;
      found += how.empty() ? 0 : 1;
      if (how.empty()) {
        fmt::print("survives: {}: {}\n", sim::mutation_kind_name(kind), sim::describe(entry.site));
      }
    }
  }
  fmt::print("{} of {} mutations caught\n", found, all);
  EXPECT_GE(all, 18);
  EXPECT_GE(found, 0.9 * all);
}

}  // namespace

}  // namespace coda::sim_test
