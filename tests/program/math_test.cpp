// The functions of program/math.h as their definitions: on numbers and on fragments, with NaN,
// infinities and zeros.
#include "coda/program/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/program/scalar_layout.h"

namespace coda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// f on a number and on a fragment that holds it; the two must agree bit for bit.
template <class F>
float both(F f, float x) {
  const float number = f(x);
  const float lane = f(fragment<OneValue>({x})).lane[0];
  EXPECT_EQ(std::bit_cast<uint32_t>(number), std::bit_cast<uint32_t>(lane)) << x;
  return number;
}

constexpr auto kExp = [](const auto& x) { return coda::exp(x); };
constexpr auto kLog = [](const auto& x) { return coda::log(x); };
constexpr auto kTanh = [](const auto& x) { return coda::tanh(x); };
constexpr auto kErf = [](const auto& x) { return coda::erf(x); };
constexpr auto kSqrt = [](const auto& x) { return coda::sqrt(x); };
constexpr auto kRsqrt = [](const auto& x) { return coda::rsqrt(x); };
constexpr auto kAbs = [](const auto& x) { return coda::abs(x); };
constexpr auto kFloor = [](const auto& x) { return coda::floor(x); };
constexpr auto kSigmoid = [](const auto& x) { return coda::sigmoid(x); };
constexpr auto kSilu = [](const auto& x) { return coda::silu(x); };
constexpr auto kRelu = [](const auto& x) { return coda::relu(x); };
constexpr auto kGelu = [](const auto& x) { return coda::gelu(x); };
constexpr auto kGeluTanh = [](const auto& x) { return coda::gelu_tanh(x); };

// |got - expected| in units of the spacing of floats at `expected`.
double ulps(float got, double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : kInfinity;
  const auto nearest = static_cast<float>(expected);
  if (got == nearest) return 0;
  const double spacing = std::nextafter(std::abs(nearest), kInfinity) - std::abs(nearest);
  return std::abs(got - expected) / spacing;
}

TEST(MathTest, TranscendentalsFollowTheirDefinition) {
  for (const float x : {-9.5f, -1.0f, -0.1f, 0.0f, 1e-6f, 0.5f, 1.0f, 3.0f, 9.5f}) {
    const double X = x;
    EXPECT_LE(ulps(both(kExp, x), std::exp(X)), 1) << x;
    EXPECT_LE(ulps(both(kTanh, x), std::tanh(X)), 2) << x;
    EXPECT_LE(ulps(both(kErf, x), std::erf(X)), 2) << x;
    EXPECT_LE(ulps(both(kSigmoid, x), 1 / (1 + std::exp(-X))), 3) << x;
    EXPECT_LE(ulps(both(kSilu, x), X / (1 + std::exp(-X))), 3) << x;
  }
  for (const float x : {1e-30f, 0.1f, 1.0f, 2.5f, 1e30f}) {
    EXPECT_LE(ulps(both(kLog, x), std::log(double{x})), 1) << x;
    EXPECT_LE(ulps(both(kSqrt, x), std::sqrt(double{x})), 0.5) << x;
    EXPECT_LE(ulps(both(kRsqrt, x), 1 / std::sqrt(double{x})), 1.5) << x;
  }
}

// 1 + erf and 1 + tanh are rounded in fp32: the error is that of |x|, not that of the result.
TEST(MathTest, GeluBothForms) {
  for (const float x : {-6.0f, -3.0f, -1.0f, -0.25f, 0.0f, 0.25f, 1.0f, 3.0f, 6.0f}) {
    const double X = x, floor = std::abs(X) * 0x1p-22;
    const double exact = 0.5 * X * (1 + std::erf(X / std::sqrt(2.0)));
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (X + 0.044715 * X * X * X);
    EXPECT_NEAR(both(kGelu, x), exact, floor) << x;
    EXPECT_NEAR(both(kGeluTanh, x), 0.5 * X * (1 + std::tanh(inner)), floor) << x;
  }
}

TEST(MathTest, InfinitiesFollowIeee) {
  EXPECT_EQ(both(kExp, kInfinity), kInfinity);
  EXPECT_EQ(both(kExp, -kInfinity), 0.0f);
  EXPECT_EQ(both(kLog, kInfinity), kInfinity);
  EXPECT_EQ(both(kLog, 0.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(both(kLog, -1.0f)));
  EXPECT_EQ(both(kSigmoid, kInfinity), 1.0f);
  EXPECT_EQ(both(kSigmoid, -kInfinity), 0.0f);
  EXPECT_EQ(both(kRsqrt, 0.0f), kInfinity);
  EXPECT_EQ(both(kRsqrt, kInfinity), 0.0f);
  EXPECT_TRUE(std::isnan(both(kSqrt, -1.0f)));
  EXPECT_EQ(both(kRelu, kInfinity), kInfinity);
  EXPECT_EQ(both(kRelu, -kInfinity), 0.0f);
  EXPECT_EQ(both(kFloor, -kInfinity), -kInfinity);
}

// x·σ(x) and x·Φ(x) are ∞·0 at -∞: NaN, as in the frameworks.
TEST(MathTest, GatedFunctionsAtInfinity) {
  EXPECT_EQ(both(kSilu, kInfinity), kInfinity);
  EXPECT_EQ(both(kGelu, kInfinity), kInfinity);
  EXPECT_EQ(both(kGeluTanh, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(both(kSilu, -kInfinity)));
  EXPECT_TRUE(std::isnan(both(kGelu, -kInfinity)));
  EXPECT_TRUE(std::isnan(both(kGeluTanh, -kInfinity)));
  EXPECT_EQ(both(kSilu, -1000.0f), 0.0f);  // exp overflows on the way: -1000/∞
}

TEST(MathTest, NanGoesThroughEverything) {
  EXPECT_TRUE(std::isnan(both(kExp, kNan)));
  EXPECT_TRUE(std::isnan(both(kLog, kNan)));
  EXPECT_TRUE(std::isnan(both(kTanh, kNan)));
  EXPECT_TRUE(std::isnan(both(kErf, kNan)));
  EXPECT_TRUE(std::isnan(both(kSqrt, kNan)));
  EXPECT_TRUE(std::isnan(both(kRsqrt, kNan)));
  EXPECT_TRUE(std::isnan(both(kAbs, kNan)));
  EXPECT_TRUE(std::isnan(both(kFloor, kNan)));
  EXPECT_TRUE(std::isnan(both(kSigmoid, kNan)));
  EXPECT_TRUE(std::isnan(both(kSilu, kNan)));
  EXPECT_TRUE(std::isnan(both(kRelu, kNan)));
  EXPECT_TRUE(std::isnan(both(kGelu, kNan)));
  EXPECT_TRUE(std::isnan(both(kGeluTanh, kNan)));
}

TEST(MathTest, MinAndMaxGiveNanForNanOnEitherSide) {
  EXPECT_TRUE(std::isnan(coda::max(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(coda::max(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(coda::min(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(coda::min(1.0f, kNan)));
  EXPECT_EQ(coda::max(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(coda::max(2.0f, 1.0f), 2.0f);
  EXPECT_EQ(coda::min(1.0f, 2.0f), 1.0f);
  EXPECT_EQ(coda::min(2.0f, 1.0f), 1.0f);
  EXPECT_EQ(coda::max(-kInfinity, -1.0f), -1.0f);
}

TEST(MathTest, Clamp) {
  const auto clamped = [](const auto& x) { return coda::clamp(x, -2.0f, 3.0f); };
  EXPECT_EQ(both(clamped, -5.0f), -2.0f);
  EXPECT_EQ(both(clamped, 1.0f), 1.0f);
  EXPECT_EQ(both(clamped, 5.0f), 3.0f);
  EXPECT_EQ(both(clamped, kInfinity), 3.0f);
  EXPECT_TRUE(std::isnan(both(clamped, kNan)));
}

TEST(MathTest, Relu) {
  EXPECT_EQ(both(kRelu, -3.0f), 0.0f);
  EXPECT_FALSE(std::signbit(both(kRelu, -3.0f)));
  EXPECT_EQ(both(kRelu, 3.0f), 3.0f);
}

TEST(MathTest, AbsFloorNegate) {
  EXPECT_EQ(both(kAbs, -2.5f), 2.5f);
  EXPECT_EQ(both(kAbs, 2.5f), 2.5f);
  EXPECT_FALSE(std::signbit(both(kAbs, -0.0f)));
  EXPECT_EQ(both(kFloor, -2.5f), -3.0f);
  EXPECT_EQ(both(kFloor, 2.5f), 2.0f);
  EXPECT_EQ((-fragment<OneValue>({3.0f})).lane[0], -3.0f);
  EXPECT_TRUE(std::signbit((-fragment<OneValue>({0.0f})).lane[0]));
}

TEST(MathTest, FmaRoundsOnce) {
  const float x = 1.0f + 0x1p-12f;  // x² = 1 + 2^-11 + 2^-24: the last term is lost unless fused
  EXPECT_EQ(coda::fma(x, x, -(1.0f + 0x1p-11f)), 0x1p-24f);
  EXPECT_EQ(coda::fma(fragment<OneValue>({x}), x, -(1.0f + 0x1p-11f)).lane[0], 0x1p-24f);
}

TEST(MathTest, ComparisonsWithNanAreFalse) {
  const auto nan = fragment<OneValue>({kNan});
  EXPECT_FALSE((nan < 1.0f).lane[0]);
  EXPECT_FALSE((nan >= 1.0f).lane[0]);
  EXPECT_FALSE((nan == nan).lane[0]);
  EXPECT_TRUE((nan != nan).lane[0]);
}

}  // namespace
}  // namespace coda
