// The prediction that kernels are chosen by: what it must rank, whatever its constants.
#include "coda/plan/predict.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "coda/catalogue/linear.h"
#include "coda/catalogue/linear_residual_norm.h"

namespace coda::plan {
namespace {

using kernel::kTileConfigs;

// Tiles as kTileConfigs numbers them.
constexpr int kPingpong128 = 0, kPingpong192 = 2, kCooperative256 = 4;

KernelEntry entry(int config) {
  KernelEntry result;
  result.config = kTileConfigs[config];
  return result;
}

Problem problem(int64_t M, int64_t N, int64_t K) {
  Problem result;
  result.rows = {1, {0, M}};
  result.columns = {1, {0, N}};
  result.contraction = {1, {0, K}};
  return result;
}

template <class P>
ProgramView all_required() {
  ProgramView program = describe(P{});
  for (PortView& port : program.ports) port.given = port.given || !port.optional;
  return program;
}

double clocks(int config, const ProgramView& program, const Problem& p, int processors = 132) {
  return predict_clocks(entry(config), program, p, Device{processors});
}

const ProgramView kLinear = all_required<catalogue::Linear<bf16>>();
const ProgramView kKept = all_required<catalogue::LinearResidualNorm<bf16>>();

TEST(Predict, GrowsWithTheContraction) {
  for (const int config : {kPingpong128, kPingpong192, kCooperative256}) {
    EXPECT_LT(clocks(config, kLinear, problem(16384, 4096, 4096)),
              clocks(config, kLinear, problem(16384, 4096, 8192)));
  }
}

// Measured on an H200: 128×128 needs more of L2 than there is when the clock is full.
TEST(Predict, LargeTilesWinWithALongContraction) {
  const Problem p = problem(16384, 8192, 22016);
  EXPECT_LT(clocks(kPingpong192, kLinear, p), clocks(kPingpong128, kLinear, p));
  EXPECT_LT(clocks(kCooperative256, kLinear, p), clocks(kPingpong128, kLinear, p));
}

// Likewise: as many waves of both, of which the last epilogue of the smaller one is shorter.
TEST(Predict, SmallTilesWinWhereARoundStaysInL2) {
  const Problem narrow = problem(16384, 2048, 2048), wide = problem(16384, 12288, 4096);
  EXPECT_LT(clocks(kPingpong128, kKept, narrow), clocks(kPingpong192, kKept, narrow));
  EXPECT_GT(clocks(kPingpong128, kKept, wide), clocks(kPingpong192, kKept, wide));
}

// 2048×2048 is 1.94 waves of 128×128 and 1.33, that is 2, of 128×192.
TEST(Predict, CountsWaves) {
  const Problem p = problem(2048, 2048, 16384);
  EXPECT_LT(clocks(kPingpong128, kLinear, p), clocks(kPingpong192, kLinear, p));
}

// A heavy epilogue is exposed in a cooperative kernel and hidden in a pingpong one.
TEST(Predict, PingpongHidesTheEpilogue) {
  const Problem p = problem(16384, 4096, 4096);
  const double hidden = clocks(kPingpong192, kKept, p) / clocks(kPingpong192, kLinear, p);
  const double exposed = clocks(kCooperative256, kKept, p) / clocks(kCooperative256, kLinear, p);
  EXPECT_LT(hidden, 1.03);
  EXPECT_GT(exposed, 1.05);
}

TEST(Predict, AShortContractionIsAllEpilogue) {
  const Problem p = problem(16384, 4096, 64);
  EXPECT_GT(clocks(kPingpong128, kKept, p), 1.5 * clocks(kPingpong128, kLinear, p));
}

RC_GTEST_PROP(Predict, IsPositiveAndTheSameEveryTime, ()) {
  const Problem p =
      problem(*rc::gen::inRange<int64_t>(1, 1 << 20), *rc::gen::inRange<int64_t>(1, 1 << 18),
              *rc::gen::inRange<int64_t>(0, 1 << 16));
  const int config = *rc::gen::inRange(0, static_cast<int>(std::size(kTileConfigs)));
  const int processors = *rc::gen::inRange(1, 200);
  const double first = clocks(config, kLinear, p, processors);
  RC_ASSERT(first > 0);
  RC_ASSERT(first == clocks(config, kLinear, p, processors));
}

}  // namespace
}  // namespace coda::plan
