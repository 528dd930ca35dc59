// Tables over several shapes, not all of which every operation was measured at.
#include <gtest/gtest.h>

#include "coda/tools/bench.h"

namespace coda::tools {
namespace {

BenchResult measured(const char* operation, int64_t N, double speedup) {
  BenchResult result;
  result.operation = operation;
  result.variant = "bf16";
  result.shape = {64, N, 32};
  result.ms = 1;
  result.baseline_ms = speedup;
  return result;
}

TEST(BenchShapes, StandBelowTheirHeads) {
  const std::vector<BenchResult> results{measured("first", 16, 1.5), measured("second", 24, 1.25),
                                         measured("second", 48, 0.5), measured("second", 96, 2)};
  EXPECT_EQ(bench_shapes(results),
            "chosen                      64x16x32  64x24x32  64x48x32  64x96x32\n"
            "first bf16 forward random      1.500         -         -         -\n"
            "second bf16 forward random         -     1.250     0.500     2.000\n");
}

}  // namespace
}  // namespace coda::tools
