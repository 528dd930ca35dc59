// A whole GEMM kernel in the simulator: right results for every major, type and policy.
#include <chrono>

#include "tests/sim/gemm_problem.h"

namespace coda::sim_test {

namespace {

constexpr sim::Policy kPolicies[] = {sim::Policy::kRandom, sim::Policy::kEager, sim::Policy::kLazy};

template <class T, Contiguous kA, Contiguous kB>
void check_majors() {
  for (sim::Policy policy : kPolicies) {
    Problem<T, kA, kB> problem(128, 128, 128);
    problem.run({.seed = 7, .policy = policy});
    problem.expect_exact();
  }
}

TEST(Gemm, AllMajorsAndTypes) {
  check_majors<bf16, Contiguous::kContraction, Contiguous::kContraction>();
  check_majors<bf16, Contiguous::kContraction, Contiguous::kRows>();
  check_majors<bf16, Contiguous::kRows, Contiguous::kContraction>();
  check_majors<bf16, Contiguous::kRows, Contiguous::kRows>();
  check_majors<fp16, Contiguous::kContraction, Contiguous::kContraction>();
  check_majors<fp16, Contiguous::kRows, Contiguous::kRows>();
}

TEST(Gemm, RingWrapsOverSeveralTilesPerBlock) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Problem<bf16> problem(512, 256, 256);
    const sim::Report report = problem.run({.seed = seed}, Bug::kNone, 2);
    problem.expect_exact();
    EXPECT_EQ(report.multiplies, 8u * 2 * 4 * 4);
    EXPECT_EQ(report.loads, 8u * 4 * 2);
    EXPECT_EQ(report.bytes_loaded, 8u * 4 * (kABytes + kBBytes));
    EXPECT_EQ(report.bytes_stored, 512u * 256 * 2);
  }
}

TEST(Gemm, RaggedShapes) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem<bf16> problem(200, 136, 72);
    problem.run({.seed = seed}, Bug::kNone, 4);
    problem.expect_exact();
  }
}

TEST(Gemm, NoContraction) {
  Problem<bf16> problem(128, 128, 0);
  problem.run({.seed = 3});
  problem.expect_exact();
}

TEST(Gemm, SameSeedSameRun) {
  Problem<bf16> problem(256, 128, 128);
  const sim::Report one = problem.run({.seed = 5}), two = problem.run({.seed = 5});
  EXPECT_EQ(one.switches, two.switches);
  EXPECT_EQ(one.operations, two.operations);
  EXPECT_NE(one.switches, problem.run({.seed = 6}).switches);
}

TEST(Gemm, TileWithinItsTime) {
  Problem<bf16> problem(128, 128, 256);
  double best = 1e9;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto start = std::chrono::steady_clock::now();
    problem.run({.seed = seed});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  RecordProperty("milliseconds", int(best * 1e3));
  EXPECT_LT(best, 0.1);
}

}  // namespace

}  // namespace coda::sim_test
