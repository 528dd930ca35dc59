// cos and sin of position·frequency on plain floats, against fp64.
#include "coda/program/angle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace coda {
namespace {

double largest_error(int64_t first, int64_t last, int64_t step, float frequency) {
  double largest = 0;
  for (int64_t position = first; position <= last; position += step) {
    const auto rotated = rotation(static_cast<float>(position), frequency);
    const double angle = static_cast<double>(position) * double{frequency};
    largest = std::max(largest, std::abs(rotated.cosine - std::cos(angle)));
    largest = std::max(largest, std::abs(rotated.sine - std::sin(angle)));
  }
  return largest;
}

TEST(Rotation, IsAccurateAtMillionsOfPositions) {
  for (const double base : {1e4, 5e5, 1e6}) {
    for (int i = 0; i < 64; ++i) {
      const auto frequency = static_cast<float>(std::pow(base, -i / 64.0));
      EXPECT_LT(largest_error(0, 4096, 1, frequency), 2e-7) << frequency;
      EXPECT_LT(largest_error((1 << 20) - 4096, 1 << 20, 1, frequency), 2e-7) << frequency;
      EXPECT_LT(largest_error(0, 1 << 21, 499, frequency), 2e-7) << frequency;
    }
  }
}

TEST(Rotation, TurnsBackwardsAtNegativePositions) {
  EXPECT_LT(largest_error(-(1 << 20), 0, 113, 0.7f), 2e-7);
}

TEST(Rotation, OfNothingIsExact) {
  for (const float position : {0.0f, 1.0f, 1048576.0f}) {
    EXPECT_EQ(rotation(position, 0.0f).cosine, 1.0f);
    EXPECT_EQ(rotation(position, 0.0f).sine, 0.0f);
  }
}

TEST(Rotation, OfNoNumberIsNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(rotation(1.0f, nan).cosine) && std::isnan(rotation(1.0f, nan).sine));
  EXPECT_TRUE(std::isnan(rotation(1.0f, infinity).cosine));
}

}  // namespace
}  // namespace coda
