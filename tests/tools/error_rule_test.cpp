// The error rule at its limits.
#include "coda/tools/error_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coda/core/random.h"
#include "coda/reference/tensor_core.h"

namespace coda::tools {
namespace {

using reference::Array;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 400 values of magnitude 1 that fp32 holds, so that rounding once costs nothing.
const Array kOnes(20, 20, 1.0);

Array with_error(double error) { return kOnes + error; }
Array with_one_error(double error) {
  Array result = kOnes;
  result(3, 4) += error;
  return result;
}

std::string text_of(const Expectation& expectation, const Array& got) {
  return expectation.mismatch(got).text;
}

TEST(ErrorRule, YardstickMeasures) {
  Yardstick yardstick;
  yardstick.add(Array{{1, 2}}, Array{{1, 5}});
  yardstick.add(Array{{kNan, 4, kInfinity}},
                Array{{1, 0, kInfinity}});  // non-finite errors are left out
  EXPECT_EQ(yardstick.count(), 3);
  EXPECT_EQ(yardstick.max_error(), 4);
  EXPECT_DOUBLE_EQ(yardstick.rms_error(), std::sqrt(25.0 / 3));
  EXPECT_DOUBLE_EQ(yardstick.rms_value(), std::sqrt(26.0 / 3));
}

TEST(ErrorRule, TwiceTheUnfusedError) {
  Expectation expectation(kOnes, DType::kFp32, 0, false);
  expectation.add_unfused(with_error(0.001));
  EXPECT_EQ(text_of(expectation, with_error(0.0019)), "");
  EXPECT_NE(text_of(expectation, with_error(0.0021)), "");
  EXPECT_NE(text_of(expectation, with_one_error(-0.0021)), "");
}

TEST(ErrorRule, KindsOfTheFormulaOrOfTheUnfusedComputation) {
  const Array want{{kInfinity, 1, kInfinity}};
  Expectation expectation(want, DType::kFp32, 0, false);
  expectation.add_unfused({{kNan, kInfinity, kInfinity}});
  EXPECT_EQ(text_of(expectation, want), "");
  EXPECT_EQ(text_of(expectation, {{kNan, 1, kInfinity}}), "");
  EXPECT_EQ(text_of(expectation, {{kInfinity, kInfinity, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, {{kInfinity, kNan, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, {{kInfinity, 1, kNan}}), "");
  EXPECT_NE(text_of(expectation, {{-kInfinity, 1, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, {{1, 1, kInfinity}}), "");
}

TEST(ErrorRule, RmsErrorHasItsOwnLimit) {
  Expectation expectation(kOnes, DType::kFp32, 0, false);
  expectation.add_unfused(with_one_error(0.001));
  EXPECT_EQ(text_of(expectation, with_one_error(0.0019)), "");
  EXPECT_NE(text_of(expectation, with_error(0.001)).find("RMS error"), std::string::npos);
}

TEST(ErrorRule, FloorGrowsWithTheContraction) {
  const Expectation expectation(kOnes, DType::kFp32, 100, false);
  EXPECT_EQ(text_of(expectation, with_error(9 * 0x1p-24)), "");
  EXPECT_NE(text_of(expectation, with_error(11 * 0x1p-24)), "");
}

TEST(ErrorRule, RoundingOnceIsAllowed) {
  const Expectation expectation(Array(20, 20, 1 + 0x1p-9), DType::kBf16, 0, false);
  EXPECT_EQ(text_of(expectation, kOnes), "");
  EXPECT_NE(text_of(expectation, with_error(0x1p-7)), "");
}

TEST(ErrorRule, ZeroIsExpectedExactly) {
  const Expectation expectation(Array(4, 4), DType::kBf16, 100, false);
  EXPECT_EQ(text_of(expectation, Array(4, 4)), "");
  EXPECT_NE(text_of(expectation, Array(4, 4, 1e-30)), "");
}

TEST(ErrorRule, ExactMeansRoundedOnce) {
  const Expectation expectation(Array{{257, 3}}, DType::kBf16, 10, true);
  EXPECT_EQ(text_of(expectation, Array{{256, 3}}), "");
  EXPECT_EQ(text_of(expectation, Array{{258, 3}}), "[0, 0]: got 258, want 256 exactly");
}

TEST(ErrorRule, NonFiniteValuesAreWhereTheFormulaHasThem) {
  const Expectation expectation(Array{{1, kInfinity, kNan, 70000}}, DType::kFp16, 10, false);
  EXPECT_EQ(text_of(expectation, Array{{1, kInfinity, kNan, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, Array{{kNan, kInfinity, kNan, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, Array{{1, -kInfinity, kNan, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, Array{{1, kNan, kNan, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, Array{{1, kInfinity, 1, kInfinity}}), "");
  EXPECT_NE(text_of(expectation, Array{{1, kInfinity, kNan, 65504}}), "");
}

TEST(ErrorRule, FewElementsAreJudgedByOtherDrawsToo) {
  Expectation expectation(Array{{1}}, DType::kFp32, 0, false);
  expectation.add_unfused(Array{{1}});  // no error, by luck
  EXPECT_NE(text_of(expectation, Array{{1.001}}), "");
  for (int i = 0; i < 300; ++i) expectation.add_other_draw(Array{{1.001}}, Array{{1}});
  EXPECT_EQ(text_of(expectation, Array{{1.001}}), "");
  EXPECT_NE(text_of(expectation, Array{{1.0021}}), "");
}

TEST(ErrorRule, GrossErrorsAreNotDoubtful) {
  Expectation expectation(kOnes, DType::kFp32, 0, false);
  expectation.add_unfused(with_error(0.001));
  EXPECT_TRUE(expectation.mismatch(with_error(0.003)).doubtful);
  EXPECT_FALSE(expectation.mismatch(with_error(0.1)).doubtful);
  EXPECT_FALSE(expectation.mismatch(with_one_error(kNan)).doubtful);
}

TEST(ErrorRule, ShapeIsCompared) {
  EXPECT_NE(text_of(Expectation(kOnes, DType::kFp32, 0, false), Array(20, 19)), "");
}

// What tensor cores give, the contraction taken from its other end, is as good as what they give:
// but not as good as sums rounded to nearest.
TEST(ErrorRule, TensorCoresAreComparedWithTensorCores) {
  constexpr int64_t kK = 6000;
  Random random(1);
  Array a(16, kK), b(16, kK);
  for (Array* operand : {&a, &b}) {
    for (double& x : operand->values) x = reference::round_to(DType::kBf16, random.normal());
  }
  const auto backwards = [](Array x) {
    for (int64_t i = 0; i < x.rows; ++i) {
      std::reverse(x.values.begin() + i * kK, x.values.begin() + (i + 1) * kK);
    }
    return x;
  };
  const Array got = matmul_tensor_core(backwards(a), backwards(b), DType::kBf16);
  const auto finding = [&](reference::Accumulation accumulation) {
    Expectation expectation(matmul(a, b), DType::kFp32, kK, false);
    expectation.add_unfused(reference::Rounding(DType::kBf16, {}, accumulation).matmul(a, b));
    return text_of(expectation, got);
  };
  EXPECT_EQ(finding(reference::Accumulation::kTensorCore), "");
  EXPECT_NE(finding(reference::Accumulation::kFp32), "");
}

}  // namespace
}  // namespace coda::tools
