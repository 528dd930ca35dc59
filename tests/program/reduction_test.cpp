// Reductions: the identity is neutral, combining is associative within rounding, finish gives the
// formula's value.
#include "coda/program/reduction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/program/arg_max.h"
#include "tests/program/reductions.h"
#include "tests/program/scalar_layout.h"

namespace coda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(CombinesAll<LogSumExp> && !CombinesAll<Sum> && !CombinesAll<Spread>);
static_assert(Reduction<Sum> && Reduction<Max> && Reduction<LogSumExp> && Reduction<Spread>);
static_assert(!Reduction<int> && !Reduction<ReciprocalRms>);

template <class R>
using State = typename R::template State<float>;

// The values one after the other, as a loop would.
template <class R>
State<R> fold(const std::vector<float>& values) {
  auto state = R::template identity<float>();
  for (const float value : values) state = R::combine(state, R::lift(value));
  return state;
}

// The same combinations as a lopsided tree.
template <class R>
State<R> fold_tree(const std::vector<float>& values, size_t begin, size_t end) {
  if (begin == end) return R::template identity<float>();
  if (end - begin == 1) return R::lift(values[begin]);
  const size_t cut = begin + std::max<size_t>(1, (end - begin) / 3);
  return R::combine(fold_tree<R>(values, begin, cut), fold_tree<R>(values, cut, end));
}

std::vector<float> some_values(float scale) {
  const int count = *rc::gen::inRange(1, 200);
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(scale * static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 1000.0f);
  }
  return values;
}

double log_sum_exp(const std::vector<float>& values) {
  double top = -kInfinity, sum = 0;
  for (const float v : values) top = std::max(top, double{v});
  for (const float v : values) sum += std::exp(v - top);
  return top + std::log(sum);
}

RC_GTEST_PROP(ReductionTest, SumOfIntegersIsExactInAnyOrder, ()) {
  const std::vector<float> values = some_values(1000.0f);
  double expected = 0;
  for (const float v : values) expected += v;
  RC_ASSERT(Sum::finish(fold<Sum>(values)) == static_cast<float>(expected));
  RC_ASSERT(Sum::finish(fold_tree<Sum>(values, 0, values.size())) == static_cast<float>(expected));
}

RC_GTEST_PROP(ReductionTest, MaxIsExactInAnyOrder, ()) {
  const std::vector<float> values = some_values(3.7f);
  float expected = values[0];
  for (const float v : values) expected = std::max(expected, v);
  RC_ASSERT(Max::finish(fold<Max>(values)) == expected);
  RC_ASSERT(Max::finish(fold_tree<Max>(values, 0, values.size())) == expected);
}

// Each of n additions rounds a positive sum, each exponential its argument and result: below
// 4n·2^-24 of the sum, hence of its logarithm, plus the rounding of max + log.
RC_GTEST_PROP(ReductionTest, LogSumExpWithinRoundingInAnyOrder, ()) {
  const std::vector<float> values = some_values(*rc::gen::element(0.1f, 1.0f, 20.0f, 300.0f));
  const double expected = log_sum_exp(values);
  const auto n = static_cast<double>(values.size());
  const double bound = 4 * n * 0x1p-24 + std::abs(expected) * 0x1p-23;
  const float in_order = LogSumExp::finish(fold<LogSumExp>(values));
  const float as_tree = LogSumExp::finish(fold_tree<LogSumExp>(values, 0, values.size()));
  RC_ASSERT(std::abs(in_order - expected) <= bound);
  RC_ASSERT(std::abs(as_tree - expected) <= bound);
}

RC_GTEST_PROP(ReductionTest, UserDefinedSpreadWithinRoundingInAnyOrder, ()) {
  const std::vector<float> values = some_values(10.0f);
  const auto n = static_cast<double>(values.size());
  double mean = 0, variance = 0;
  for (const float v : values) mean += v / n;
  for (const float v : values) variance += (v - mean) * (v - mean) / n;
  const double bound = 8 * n * 0x1p-24 * 100;  // |x| ≤ 10, so squares are at most 100
  for (const auto& state : {fold<Spread>(values), fold_tree<Spread>(values, 0, values.size())}) {
    RC_ASSERT(state.count == static_cast<float>(values.size()));
    RC_ASSERT(std::abs(state.mean - mean) <= 8 * n * 0x1p-24 * 10);
    RC_ASSERT(std::abs(Spread::finish(state) - variance) <= bound);
  }
}

RC_GTEST_PROP(ReductionTest, IdentityIsNeutralOnBothSides, ()) {
  const float x = some_values(50.0f)[0];
  RC_ASSERT(Sum::combine(Sum::identity<float>(), x) == x);
  RC_ASSERT(Sum::combine(x, Sum::identity<float>()) == x);
  RC_ASSERT(Max::combine(Max::identity<float>(), x) == x);
  RC_ASSERT(Max::combine(x, Max::identity<float>()) == x);
  const auto lse = LogSumExp::combine(LogSumExp::lift(x), LogSumExp::lift(x + 1.0f));
  const auto left = LogSumExp::combine(LogSumExp::identity<float>(), lse);
  const auto right = LogSumExp::combine(lse, LogSumExp::identity<float>());
  RC_ASSERT(left.max == lse.max && left.sum == lse.sum);
  RC_ASSERT(right.max == lse.max && right.sum == lse.sum);
  const auto moments = Spread::combine(Spread::lift(x), Spread::lift(x + 2.0f));
  const auto same = Spread::combine(moments, Spread::identity<float>());
  RC_ASSERT(same.count == 2.0f && same.mean == moments.mean);
  RC_ASSERT(same.deviations == moments.deviations);
}

TEST(ReductionTest, EmptyFoldsAreTheIdentity) {
  EXPECT_EQ(Sum::finish(fold<Sum>({})), 0.0f);
  EXPECT_EQ(Max::finish(fold<Max>({})), -kInfinity);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({})), -kInfinity);
  const auto two = LogSumExp::combine(LogSumExp::identity<float>(), LogSumExp::identity<float>());
  EXPECT_EQ(two.max, -kInfinity);
  EXPECT_EQ(two.sum, 0.0f);
}

// All at once, the same as one after the other.
RC_GTEST_PROP(ReductionTest, LogSumExpCombinesAll, ()) {
  const auto drawn = *rc::gen::container<std::vector<int>>(9, rc::gen::inRange(-200, 200));
  LogSumExp::State<float> running = LogSumExp::lift(static_cast<float>(drawn[8]) / 8), more[8];
  auto in_order = running;
  for (size_t i = 0; i < 8; ++i) {
    more[i] = LogSumExp::lift(static_cast<float>(drawn[i]) / 8);
    in_order = LogSumExp::combine(in_order, more[i]);
  }
  const auto at_once = LogSumExp::combine_all(running, more);
  RC_ASSERT(at_once.max == in_order.max);
  RC_ASSERT(std::abs(at_once.sum - in_order.sum) <= 1e-6f * in_order.sum);
}

TEST(ReductionTest, LogSumExpCombinesAllWithInfinities) {
  using State = LogSumExp::State<float>;
  const auto nothing = LogSumExp::identity<float>();
  const State none[2] = {nothing, nothing};
  EXPECT_EQ(LogSumExp::finish(LogSumExp::combine_all(nothing, none)), -kInfinity);
  const State low[2] = {LogSumExp::lift(-kInfinity), nothing};
  EXPECT_EQ(LogSumExp::finish(LogSumExp::combine_all(nothing, low)), -kInfinity);
  EXPECT_EQ(LogSumExp::finish(LogSumExp::combine_all(LogSumExp::lift(3.0f), low)), 3.0f);
  const State high[2] = {LogSumExp::lift(-kInfinity), LogSumExp::lift(kInfinity)};
  EXPECT_EQ(LogSumExp::finish(LogSumExp::combine_all(LogSumExp::lift(3.0f), high)), kInfinity);
  const State nan[2] = {LogSumExp::lift(kNan), LogSumExp::lift(kInfinity)};
  EXPECT_TRUE(std::isnan(LogSumExp::finish(LogSumExp::combine_all(nothing, nan))));
}

TEST(ReductionTest, LogSumExpWithInfinities) {
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({1.0f, kInfinity, -2.0f})), kInfinity);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({kInfinity, kInfinity})), kInfinity);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({-kInfinity, -kInfinity})), -kInfinity);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({-kInfinity, kInfinity})), kInfinity);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({-kInfinity, 3.0f, -kInfinity})), 3.0f);
  EXPECT_TRUE(std::isnan(LogSumExp::finish(fold<LogSumExp>({1.0f, kNan, 2.0f}))));
  EXPECT_TRUE(std::isnan(LogSumExp::finish(fold<LogSumExp>({kNan, kInfinity}))));
  EXPECT_TRUE(std::isnan(LogSumExp::finish(fold<LogSumExp>({kInfinity, kNan}))));
}

TEST(ReductionTest, LogSumExpOfHugeFiniteValues) {
  const float top = std::numeric_limits<float>::max();
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({top, -top, top})), top);
  EXPECT_EQ(LogSumExp::finish(fold<LogSumExp>({-top})), -top);
}

TEST(ReductionTest, NanReachesSumAndMax) {
  EXPECT_TRUE(std::isnan(fold<Sum>({1.0f, kNan})));
  EXPECT_TRUE(std::isnan(fold<Max>({1.0f, kNan, 2.0f})));
  EXPECT_TRUE(std::isnan(fold<Sum>({kInfinity, -kInfinity})));
}

TEST(ReductionTest, FragmentsReduceLikeNumbers) {
  const auto a = fragment<ColumnValues>({0.5f, -kInfinity, 3.0f});
  const auto b = fragment<ColumnValues>({1.5f, -kInfinity, kInfinity});
  const auto lse = LogSumExp::combine(LogSumExp::lift(a), LogSumExp::lift(b));
  const auto moments = Spread::combine(Spread::lift(a), Spread::identity<ColumnValues>());
  for (int i = 0; i < 3; ++i) {
    const auto single = LogSumExp::combine(LogSumExp::lift(a.lane[i]), LogSumExp::lift(b.lane[i]));
    EXPECT_EQ(lse.max.lane[i], single.max);
    EXPECT_EQ(lse.sum.lane[i], single.sum);
    EXPECT_EQ(moments.count.lane[i], 1.0f);
  }
  EXPECT_EQ(moments.mean.lane[0], 0.5f);
  EXPECT_EQ(Sum::combine(a, b).lane[0], 2.0f);
  EXPECT_EQ(Max::combine(a, b).lane[2], kInfinity);
}

TEST(MeanTest, FinishAndDerivative) {
  const Mean mean{.width = 4.0f};
  EXPECT_EQ(mean.finish(14.0f), 3.5f);
  EXPECT_EQ(mean.derivative(14.0f), 0.25f);
}

TEST(ReciprocalRmsTest, FinishAndDerivative) {
  const ReciprocalRms rms{.width = 4.0f, .epsilon = 0.5f};
  EXPECT_EQ(rms.finish(14.0f), 0.5f);                     // (14/4 + 1/2)^(-1/2)
  EXPECT_EQ(rms.derivative(14.0f), -0.5f / 4.0f / 8.0f);  // -1/(2·4)·(1/2)³
  EXPECT_EQ(ReciprocalRms{}.finish(0.0f), kInfinity);
}

// Σx and Σx² of 1, 2, 3, 6: mean 3, variance (1 + 4 + 9 + 36)/4 − 9.
TEST(MomentsTest, MeanAndDeviationOfTheSameStates) {
  static_assert(Reduction<Moments> && !CombinesAll<Moments>);
  const auto state = fold<Moments>({1, 2, 3, 6});
  EXPECT_EQ(state.sum, 12.0f);
  EXPECT_EQ(state.squares, 50.0f);
  EXPECT_EQ(RowMean{.width = 4.0f}.finish(state), 3.0f);
  const ReciprocalDeviation rstd{.width = 4.0f, .epsilon = 0.5f};
  EXPECT_EQ(rstd.finish(state), 0.5f);  // (3.5 + 0.5)^(-1/2)
  EXPECT_EQ(rstd.finish(Moments::State<double>{12, 50}), 0.5);
  const auto same = Moments::combine(Moments::identity<float>(), state);
  EXPECT_TRUE(same.sum == state.sum && same.squares == state.squares);
}

TEST(MomentsTest, VarianceIsNeverNegative) {
  const ReciprocalDeviation rstd{.width = 2.0f, .epsilon = 0.25f};
  EXPECT_EQ(rstd.finish(Moments::State<float>{2.0f, 1.9f}), 2.0f);  // 0.95 − 1 counts as 0
  EXPECT_TRUE(std::isnan(rstd.finish(Moments::State<float>{2.0f, kNan})));
  EXPECT_TRUE(std::isnan(rstd.finish(Moments::State<float>{kInfinity, kInfinity})));
}

// d(a·Σx + b·Σx²) = a + 2bx
TEST(MomentsTest, PullsBack) {
  const auto dx =
      Moments::pull_back(std::array{3.0f}, std::array{0.0f, 0.0f}, std::array{5.0f, 2.0f});
  EXPECT_EQ(dx[0], 17.0f);
}

// Any order gives the same: columns are taken in an order of their own.
TEST(ArgMax, IsTheFirstOfTheLargest) {
  const std::vector<float> values = {1, 5, -kInfinity, 5, kNan, 2, kNan, 5};
  for (size_t count = 1; count <= values.size(); ++count) {
    size_t expected = 0;
    for (size_t i = 1; i < count; ++i) {
      const bool above = values[i] > values[expected] || std::isnan(values[i]);
      if (above && !std::isnan(values[expected])) expected = i;
    }
    for (size_t stride : {1u, 3u, 5u}) {
      auto state = ArgMax::identity<float>();
      for (size_t n = 0; n < values.size(); ++n) {
        const size_t i = n * stride % values.size();
        if (i < count) {
          state = ArgMax::combine(state, ArgMax::lift(values[i], static_cast<float>(i)));
        }
      }
      EXPECT_EQ(state.column, static_cast<float>(expected)) << count << " values, by " << stride;
    }
  }
}

}  // namespace
}  // namespace coda
