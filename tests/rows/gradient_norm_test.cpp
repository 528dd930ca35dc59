// What random cases do not say of square_sums and clip_factor: how accurate long sums are, that
// threads do not change them, and what becomes of a norm that is not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "coda/core/random.h"
#include "coda/rows/clip_factor.h"
#include "coda/rows/square_sums.h"

namespace coda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorView view(const std::vector<float>& data, int64_t rows = 1) {
  return erase(Matrix<const float>(data.data(), rows, static_cast<int64_t>(data.size()) / rows));
}

struct Clip {
  std::vector<float> norm{-1}, factor{-1};
};

Clip clip(const std::vector<float>& squares, double max_norm, int threads = 0) {
  Clip result;
  cpu::clip_factor({view(squares), view(result.norm), view(result.factor), max_norm}, threads);
  return result;
}

TEST(ClipFactor, TenMillionPartials) {
  Random random(5);
  std::vector<float> squares(10'000'000);
  long double sum = 0;
  for (float& square : squares) {
    square = static_cast<float>(std::exp(12 * random.uniform() - 6));
    sum += square;
  }
  const auto norm = static_cast<double>(std::sqrt(sum));
  const Clip result = clip(squares, norm / 3);
  // One rounding each; sums in fp64 add less than 10^7·2^-53.
  EXPECT_NEAR(result.norm[0], norm, norm * (0x1p-24 + 2e-9));
  const double factor = norm / 3 / (norm + 1e-6);
  EXPECT_NEAR(result.factor[0], factor, factor * (0x1p-24 + 2e-9));
  for (const int threads : {1, 2, 7}) {
    const Clip again = clip(squares, norm / 3, threads);
    EXPECT_EQ(again.norm, result.norm);
    EXPECT_EQ(again.factor, result.factor);
  }
}

TEST(ClipFactor, OneWhereTheNormIsBelow) {
  const std::vector<float> squares{9, 16};  // norm 5
  EXPECT_EQ(clip(squares, 5.1).factor[0], 1);
  EXPECT_EQ(clip(squares, std::numeric_limits<double>::infinity()).factor[0], 1);
  EXPECT_LT(clip(squares, 5).factor[0], 1);  // because of the 1e-6
  EXPECT_EQ(clip(squares, 2.5).norm[0], 5);
  EXPECT_EQ(clip(squares, 2.5).factor[0], static_cast<float>(2.5 / (5 + 1e-6)));
  const Clip none = clip({}, 1);
  EXPECT_EQ(none.norm[0], 0);
  EXPECT_EQ(none.factor[0], 1);
}

TEST(ClipFactor, NormThatIsNotFinite) {
  for (const double max_norm : {1.0, std::numeric_limits<double>::infinity()}) {
    const Clip infinite = clip({1, kInfinity, 2}, max_norm);
    EXPECT_EQ(infinite.norm[0], kInfinity);
    EXPECT_TRUE(std::isnan(infinite.factor[0]));
    const Clip nan = clip({1, kNan, 2}, max_norm);
    EXPECT_TRUE(std::isnan(nan.norm[0]));
    EXPECT_TRUE(std::isnan(nan.factor[0]));
  }
  // Each of them in fp32's range, but not their sum.
  const float largest = std::numeric_limits<float>::max();
  const Clip large = clip({largest, largest}, 1);
  EXPECT_EQ(large.norm[0], static_cast<float>(std::sqrt(2.0 * static_cast<double>(largest))));
  EXPECT_GT(large.factor[0], 0);
}

TEST(SquareSums, LongRowsOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 3, kColumns = 1'000'003;
  std::vector<float> x(kRows * kColumns), sums(kRows, -1);
  Random random(6);
  std::vector<long double> exact(kRows);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random.normal());
    exact[i / kColumns] += static_cast<long double>(x[i]) * x[i];
  }
  cpu::square_sums({view(x, kRows), view(sums)}, 1);
  for (size_t i = 0; i < kRows; ++i) {
    const auto want = static_cast<double>(exact[i]);
    EXPECT_NEAR(sums[i], want, want * (0x1p-24 + 2e-10));
  }
  for (const int threads : {2, 5}) {
    std::vector<float> again(kRows, -1);
    cpu::square_sums({view(x, kRows), view(again)}, threads);
    EXPECT_EQ(again, sums);
  }
}

}  // namespace
}  // namespace coda
