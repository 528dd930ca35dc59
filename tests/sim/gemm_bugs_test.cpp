// The simulator's teeth on a whole kernel: every bug is found with every seed, by name.
#include <set>

#include "tests/sim/gemm_problem.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

struct Expected {
  Bug bug;
  const char* name;
  std::set<Violation> violations;  // which one comes first depends on the seed
};

const Expected kExpected[] = {
    {Bug::kNoFullWait,
     "no full wait",
     {Violation::kUninitialised, Violation::kInFlight, Violation::kRace}},
    {Bug::kNoEmptyWait, "no empty wait", {Violation::kRace, Violation::kArrivals}},
    {Bug::kEarlyRelease, "early release", {Violation::kRace}},
    {Bug::kWrongFullParity,
     "wrong full parity",
     {Violation::kUninitialised, Violation::kInFlight, Violation::kRace, Violation::kDeadlock}},
    {Bug::kWrongEmptyParity, "wrong empty parity", {Violation::kDeadlock}},
    {Bug::kTooManyBytes, "too many bytes", {Violation::kDeadlock}},
    {Bug::kTooFewBytes,
     "too few bytes",
     {Violation::kTransactions, Violation::kInFlight, Violation::kRace}},
    {Bug::kNoProxyFence, "no proxy fence", {Violation::kProxy}},
    {Bug::kNoWarpSync, "no warp sync", {Violation::kRace, Violation::kUninitialised}},
    {Bug::kNoStoreWait, "no store wait", {Violation::kRace}},
    {Bug::kNoLastStoreWait, "no last store wait", {Violation::kLeftover}},
    {Bug::kNoCommit, "no commit", {Violation::kRace, Violation::kLeftover}},
    {Bug::kNoInitFence, "no init fence", {Violation::kBarrier}},
    {Bug::kNoInitSync, "no init sync", {Violation::kBarrier}},
    {Bug::kNoMultiplyFence, "no multiply fence", {Violation::kMultiply}},
    {Bug::kNoMultiplyCommit, "no multiply commit", {Violation::kRace, Violation::kLeftover}},
    {Bug::kTwoArrivals,
     "two arrivals",
     {Violation::kRace, Violation::kInFlight, Violation::kPhase, Violation::kArrivals,
      Violation::kDeadlock}},
    {Bug::kMissingArrival, "missing arrival", {Violation::kDeadlock}},
    {Bug::kTooManyRegisters, "too many registers", {Violation::kDeadlock}},
    {Bug::kNoMultiplyWait, "no multiply wait", {Violation::kRace, Violation::kLeftover}},
};

TEST(GemmBugs, FoundWithEverySeed) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    for (sim::Policy policy : {sim::Policy::kRandom, sim::Policy::kEager, sim::Policy::kLazy}) {
      for (uint64_t seed = 1; seed <= (policy == sim::Policy::kRandom ? 8u : 1u); ++seed) {
        SCOPED_TRACE(seed);
        Problem<bf16> problem(256, 128, 256);
        try {
          problem.run({.seed = seed, .policy = policy}, expected.bug);
          ADD_FAILURE() << "not found, policy " << int(policy);
        } catch (const sim::Failure& failure) {
          EXPECT_EQ(expected.violations.count(failure.violation), 1u) << failure.what();
        }
      }
    }
  }
}

}  // namespace

}  // namespace coda::sim_test
