// SIMD functions of every instruction set here, against fp64 over all magnitudes and at the special
// values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/cpu/simd_math_table.h"

namespace coda::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = std::numeric_limits<float>::min();  // 2^-126, the smallest normal number

// Floats of every exponent and sign, low bits included: 2^32 / 4099 of them.
const std::vector<float>& all_magnitudes() {
  static const std::vector<float> values = [] {
    std::vector<float> result;
    for (uint64_t bits = 0; bits < 0x100000000u; bits += 4099) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isfinite(value)) result.push_back(value);
    }
    return result;
  }();
  return values;
}

// Spacing of floats at x, that of 2^-126 below.
double spacing(double x) {
  const float at = std::max(std::abs(static_cast<float>(x)), kTiny);
  return std::nextafter(at, kInfinity) - double{at};
}

class SimdMathTest : public testing::TestWithParam<Isa> {
 protected:
  float one(Function function, float x) {
    float y = 0;
    simd_math(GetParam()).apply(function, &x, &y, 1);
    return y;
  }
  // bound(x, exact) is the largest error allowed.
  template <class Exact, class Bound>
  void expect_accurate(Function function, Exact exact, Bound bound) {
    const std::vector<float>& x = all_magnitudes();
    std::vector<float> y(x.size());
    simd_math(GetParam()).apply(function, x.data(), y.data(), static_cast<int64_t>(x.size()));
    int failures = 0;
    for (size_t i = 0; i < x.size() && failures < 5; ++i) {
      const double expected = exact(double{x[i]});
      const bool overflow = std::abs(expected) > std::numeric_limits<float>::max();
      const bool good = std::isnan(expected) ? std::isnan(y[i])
                        : overflow           ? std::abs(y[i]) >= std::numeric_limits<float>::max()
                                             : std::abs(y[i] - expected) <= bound(x[i], expected);
      if (!good) {
        ++failures;
        ADD_FAILURE() << "x = " << x[i] << ": expected " << expected << ", got " << y[i] << ", "
                      << std::abs(y[i] - expected) / spacing(expected) << " ulp";
      }
    }
  }
  template <class Exact>
  void expect_ulps(Function function, Exact exact, double ulps) {
    expect_accurate(function, exact,
                    [&](double, double expected) { return ulps * spacing(expected); });
  }
};

// Highway states 4 ulp for log and tanh.
TEST_P(SimdMathTest, Exp) {
  expect_ulps(Function::kExp, [](double x) { return std::exp(x); }, 1);
}
TEST_P(SimdMathTest, Log) {
  expect_ulps(Function::kLog, [](double x) { return std::log(x); }, 4);
}
TEST_P(SimdMathTest, Tanh) {
  expect_ulps(Function::kTanh, [](double x) { return std::tanh(x); }, 4);
}
TEST_P(SimdMathTest, Erf) {
  expect_ulps(Function::kErf, [](double x) { return std::erf(x); }, 1.2);
  for (float x = 3.0f; x < 4.0f; x += 0x1p-12f) EXPECT_LE(one(Function::kErf, x), 1.0f) << x;
}
TEST_P(SimdMathTest, SquareRoots) {
  expect_ulps(Function::kSqrt, [](double x) { return std::sqrt(x); }, 0.5);
  expect_ulps(Function::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5);
}

// Beyond the range of exp(-x) the result is a zero, where the formula still has up to 2^-127·|x|.
TEST_P(SimdMathTest, Sigmoid) {
  const auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
  expect_accurate(Function::kSigmoid, exact,
                  [](double, double y) { return 4 * spacing(y) + kTiny / 2; });
}
TEST_P(SimdMathTest, Silu) {
  const auto exact = [](double x) { return x / (1 + std::exp(-x)); };
  expect_accurate(Function::kSilu, exact,
                  [](double x, double y) { return 4 * spacing(y) + std::abs(x) * kTiny / 2; });
}

// 1 + erf and 1 + tanh are rounded in fp32, with the error of erf or tanh: a part of |x|.
TEST_P(SimdMathTest, Gelu) {
  const auto exact = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  expect_accurate(Function::kGelu, exact,
                  [](double x, double) { return std::abs(x) * 0x1p-21 + spacing(0); });
}
TEST_P(SimdMathTest, GeluTanh) {
  const double factor = std::sqrt(2 / std::acos(-1.0));
  const auto exact = [&](double x) {
    return 0.5 * x * (1 + std::tanh(factor * (x + 0.044715 * x * x * x)));
  };
  expect_accurate(Function::kGeluTanh, exact,
                  [](double x, double) { return std::abs(x) * 0x1p-21 + spacing(0); });
}

TEST_P(SimdMathTest, ExactFunctions) {
  expect_ulps(Function::kAbs, [](double x) { return std::abs(x); }, 0);
  expect_ulps(Function::kFloor, [](double x) { return std::floor(x); }, 0);
  expect_ulps(Function::kRelu, [](double x) { return std::max(x, 0.0); }, 0);
  expect_ulps(Function::kMinTwo, [](double x) { return std::min(x, 2.0); }, 0);
  expect_ulps(Function::kMaxTwo, [](double x) { return std::max(x, 2.0); }, 0);
}

TEST_P(SimdMathTest, NanGoesThroughEverything) {
  for (const Function f :
       {Function::kExp,      Function::kLog,       Function::kTanh,   Function::kErf,
        Function::kSqrt,     Function::kRsqrt,     Function::kAbs,    Function::kFloor,
        Function::kSigmoid,  Function::kSilu,      Function::kRelu,   Function::kGelu,
        Function::kGeluTanh, Function::kMinTwo,    Function::kMaxTwo, Function::kTwoMin,
        Function::kTwoMax,   Function::kFmaSquare, Function::kCosine, Function::kSine}) {
    EXPECT_TRUE(std::isnan(one(f, kNan))) << static_cast<int>(f);
    EXPECT_TRUE(std::isnan(one(f, -kNan))) << static_cast<int>(f);
  }
}

TEST_P(SimdMathTest, ComparisonsAreThoseOfIeee) {
  for (const float x : {1.0f, 2.0f, 3.0f, -0.0f, kInfinity, -kInfinity, kNan, -kNan}) {
    EXPECT_EQ(one(Function::kBelowTwo, x), x < 2 ? 1 : 0) << x;
    EXPECT_EQ(one(Function::kAtMostTwo, x), x <= 2 ? 1 : 0) << x;
    EXPECT_EQ(one(Function::kAboveTwo, x), x > 2 ? 1 : 0) << x;
    EXPECT_EQ(one(Function::kAtLeastTwo, x), x >= 2 ? 1 : 0) << x;
    EXPECT_EQ(one(Function::kIsTwo, x), x == 2 ? 1 : 0) << x;
    EXPECT_EQ(one(Function::kIsNotTwo, x), x != 2 ? 1 : 0) << x;
  }
}

TEST_P(SimdMathTest, Infinities) {
  EXPECT_EQ(one(Function::kExp, kInfinity), kInfinity);
  EXPECT_EQ(one(Function::kExp, -kInfinity), 0.0f);
  EXPECT_EQ(one(Function::kLog, kInfinity), kInfinity);
  EXPECT_EQ(one(Function::kLog, 0.0f), -kInfinity);
  EXPECT_EQ(one(Function::kLog, -0.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(one(Function::kLog, -kInfinity)));
  EXPECT_EQ(one(Function::kTanh, kInfinity), 1.0f);
  EXPECT_EQ(one(Function::kTanh, -kInfinity), -1.0f);
  EXPECT_EQ(one(Function::kErf, kInfinity), 1.0f);
  EXPECT_EQ(one(Function::kErf, -kInfinity), -1.0f);
  EXPECT_EQ(one(Function::kSigmoid, kInfinity), 1.0f);
  EXPECT_EQ(one(Function::kSigmoid, -kInfinity), 0.0f);
  EXPECT_EQ(one(Function::kSilu, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(one(Function::kSilu, -kInfinity)));
  EXPECT_EQ(one(Function::kGelu, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(one(Function::kGelu, -kInfinity)));
  EXPECT_EQ(one(Function::kGeluTanh, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(one(Function::kGeluTanh, -kInfinity)));
  EXPECT_EQ(one(Function::kSqrt, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(one(Function::kSqrt, -1.0f)));
  EXPECT_EQ(one(Function::kRsqrt, kInfinity), 0.0f);
  EXPECT_EQ(one(Function::kRsqrt, 0.0f), kInfinity);
  EXPECT_EQ(one(Function::kAbs, -kInfinity), kInfinity);
  EXPECT_EQ(one(Function::kFloor, -kInfinity), -kInfinity);
  EXPECT_EQ(one(Function::kRelu, kInfinity), kInfinity);
  EXPECT_EQ(one(Function::kRelu, -kInfinity), 0.0f);
  EXPECT_EQ(one(Function::kMinTwo, -kInfinity), -kInfinity);
  EXPECT_EQ(one(Function::kTwoMax, kInfinity), kInfinity);
}

TEST_P(SimdMathTest, SignedZeros) {
  for (const Function f : {Function::kTanh, Function::kErf, Function::kSilu, Function::kGelu,
                           Function::kGeluTanh, Function::kFloor, Function::kSqrt}) {
    EXPECT_EQ(one(f, -0.0f), 0.0f);
    EXPECT_TRUE(std::signbit(one(f, -0.0f))) << static_cast<int>(f);
    EXPECT_FALSE(std::signbit(one(f, 0.0f))) << static_cast<int>(f);
  }
  EXPECT_FALSE(std::signbit(one(Function::kAbs, -0.0f)));
  EXPECT_EQ(one(Function::kExp, -0.0f), 1.0f);
}

TEST_P(SimdMathTest, EdgesOfTheRange) {
  EXPECT_EQ(one(Function::kExp, 89.0f), kInfinity);
  EXPECT_EQ(one(Function::kExp, 1e30f), kInfinity);
  EXPECT_EQ(one(Function::kExp, -105.0f), 0.0f);
  EXPECT_EQ(one(Function::kExp, -1e30f), 0.0f);
  EXPECT_LT(one(Function::kExp, 88.7f), kInfinity);
  for (const float x : {3.93f, 5.0f, 20.0f, 1e30f}) {  // erf(3.92) rounds to 1
    EXPECT_EQ(one(Function::kErf, x), 1.0f) << x;
    EXPECT_EQ(one(Function::kErf, -x), -1.0f) << x;
    EXPECT_LE(one(Function::kTanh, x), 1.0f) << x;
  }
  for (const float x : {-8.0f, -100.0f, -1e30f}) {
    EXPECT_EQ(one(Function::kGelu, x), 0.0f) << x;
    EXPECT_EQ(one(Function::kGeluTanh, -30.0f), 0.0f) << x;
  }
}

// 128-bit vectors of x86-64 have no fused multiply-add: there it rounds twice.
TEST_P(SimdMathTest, FmaRoundsOnce) {
  const float x = 1.0f + 0x1p-12f;
  EXPECT_EQ(one(Function::kFmaSquare, x), 0x1p-11f + 0x1p-24f);
}

TEST_P(SimdMathTest, RotationIsAccurateAtMillionsOfPositions) {
  for (int position = -(1 << 20); position <= 1 << 22; position += 113) {
    const double angle = position * double{0.7f};
    const auto x = static_cast<float>(position);
    ASSERT_NEAR(one(Function::kCosine, x), std::cos(angle), 2e-7) << position;
    ASSERT_NEAR(one(Function::kSine, x), std::sin(angle), 2e-7) << position;
  }
}

std::string isa_of(const testing::TestParamInfo<Isa>& info) { return isa_name(info.param); }
INSTANTIATE_TEST_SUITE_P(EveryIsa, SimdMathTest, testing::ValuesIn(available_isas()), isa_of);

}  // namespace
}  // namespace coda::cpu
