// Fragments: broadcasting between index spaces, element types, plain numbers beside fragments.
#include "coda/program/fragment.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/program/scalar_layout.h"

namespace coda {
namespace {

template <class F>
std::vector<typename F::Element> lanes(const F& f) {
  return std::vector<typename F::Element>(f.lane, f.lane + F::kCount);
}

template <class F, class Element, Space kSpace>
constexpr bool is = std::is_same_v<std::remove_cvref_t<F>, ScalarFragment<Element, kSpace>>;

const RowValues kRows = fragment<RowValues>({10, 20});
const ColumnValues kColumns = fragment<ColumnValues>({1, 2, 3});
const ElementValues kElements = fragment<ElementValues>({1, 2, 3, 4, 5, 6});
const OneValue kOne = fragment<OneValue>({7});

TEST(SpaceTest, JoinIsTheSmallestThatContainsBoth) {
  const Space s = Space::kScalar, r = Space::kRow, c = Space::kColumn, e = Space::kElement;
  const Space expected[4][4] = {{s, r, c, e}, {r, r, e, e}, {c, e, c, e}, {e, e, e, e}};
  for (const Space a : {s, r, c, e}) {
    for (const Space b : {s, r, c, e}) {
      EXPECT_EQ(join(a, b), expected[static_cast<int>(a)][static_cast<int>(b)]);
    }
  }
}

TEST(FragmentTest, SameSpaceGoesLaneByLane) {
  EXPECT_EQ(lanes(kRows + kRows), (std::vector<float>{20, 40}));
  EXPECT_EQ(lanes(kElements - kElements), std::vector<float>(6, 0.0f));
}

TEST(FragmentTest, RowWithColumnGivesElements) {
  const auto sum = kRows + kColumns;
  static_assert(is<decltype(sum), float, Space::kElement>);
  EXPECT_EQ(lanes(sum), (std::vector<float>{11, 12, 13, 21, 22, 23}));
}

TEST(FragmentTest, BroadcastsInEitherOrder) {
  EXPECT_EQ(lanes(kElements - kRows), (std::vector<float>{-9, -8, -7, -16, -15, -14}));
  EXPECT_EQ(lanes(kRows - kElements), (std::vector<float>{9, 8, 7, 16, 15, 14}));
  EXPECT_EQ(lanes(kElements * kColumns), (std::vector<float>{1, 4, 9, 4, 10, 18}));
  EXPECT_EQ(lanes(kColumns / kElements), (std::vector<float>{1, 1, 1, 0.25f, 0.4f, 0.5f}));
}

TEST(FragmentTest, ScalarsKeepTheOtherSpace) {
  static_assert(is<decltype(kOne * kRows), float, Space::kRow>);
  static_assert(is<decltype(kColumns * kOne), float, Space::kColumn>);
  static_assert(is<decltype(kOne + kOne), float, Space::kScalar>);
  EXPECT_EQ(lanes(kColumns - kOne), (std::vector<float>{-6, -5, -4}));
}

TEST(FragmentTest, NumbersStandOnEitherSide) {
  EXPECT_EQ(lanes(1.0f - kRows), (std::vector<float>{-9, -19}));
  EXPECT_EQ(lanes(kRows / 4), (std::vector<float>{2.5f, 5}));
  EXPECT_EQ(lanes(0.1 * kRows), (std::vector<float>{1, 2}));  // a double is rounded to float first
  static_assert(is<decltype(2.0 * kRows), float, Space::kRow>);
}

TEST(FragmentTest, ThreeOperandsJoinAllSpaces) {
  const auto value = fma(kRows, kColumns, kOne);
  static_assert(is<decltype(value), float, Space::kElement>);
  EXPECT_EQ(lanes(value), (std::vector<float>{17, 27, 37, 27, 47, 67}));
}

TEST(FragmentTest, IntegersStayIntegers) {
  const auto row = fragment<ScalarFragment<int32_t, Space::kRow>>({5, -7});
  const auto column = fragment<ScalarFragment<int32_t, Space::kColumn>>({0, 1, 2});
  const auto index = row * 3 + column;
  static_assert(is<decltype(index), int32_t, Space::kElement>);
  EXPECT_EQ(lanes(index), (std::vector<int32_t>{15, 16, 17, -21, -20, -19}));
  EXPECT_EQ(lanes(-row), (std::vector<int32_t>{-5, 7}));
  EXPECT_EQ(lanes(abs(row)), (std::vector<int32_t>{5, 7}));
  EXPECT_EQ(lanes(max(row, 0)), (std::vector<int32_t>{5, 0}));
  EXPECT_EQ(lanes(min(row, -6)), (std::vector<int32_t>{-6, -7}));
  EXPECT_EQ(lanes(fma(row, 2, column)), (std::vector<int32_t>{10, 11, 12, -14, -13, -12}));
}

TEST(FragmentTest, IntegersBecomeFloats) {
  const auto row = to_float(fragment<ScalarFragment<int32_t, Space::kRow>>({16777217, -3}));
  static_assert(is<decltype(row), float, Space::kRow>);
  EXPECT_EQ(lanes(row), (std::vector<float>{16777216.0f, -3.0f}));  // 2^24 + 1 rounds to even
}

TEST(FragmentTest, ComparisonsGiveMasks) {
  const auto below = kElements < kColumns;
  static_assert(is<decltype(below), bool, Space::kElement>);
  const auto two = kElements == 2.0f, not_two = kElements != 2.0f;
  EXPECT_EQ(lanes(two), (std::vector<bool>{false, true, false, false, false, false}));
  EXPECT_EQ(lanes(not_two), (std::vector<bool>{true, false, true, true, true, true}));
  EXPECT_EQ(lanes(kColumns < 2.0f), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(lanes(kColumns <= 2.0f), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(lanes(kColumns > 2.0f), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(lanes(kColumns >= 2.0f), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(lanes(2.0f > kColumns), (std::vector<bool>{true, false, false}));
}

TEST(FragmentTest, MasksCombine) {
  const auto low = kColumns < 3.0f, high = kColumns > 1.0f;
  EXPECT_EQ(lanes(low && high), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(lanes(!low || !high), (std::vector<bool>{true, false, true}));
  const auto row_mask = kRows > 15.0f;
  EXPECT_EQ(lanes(row_mask && low), (std::vector<bool>{false, false, false, true, true, false}));
}

TEST(FragmentTest, SelectTakesFragmentsAndNumbers) {
  const auto mask = kColumns > 1.0f;
  EXPECT_EQ(lanes(select(mask, 1.0f, 0.0f)), (std::vector<float>{0, 1, 1}));
  EXPECT_EQ(lanes(select(mask, kColumns, -1.0f)), (std::vector<float>{-1, 2, 3}));
  EXPECT_EQ(lanes(select(mask, 0.0f, kRows)), (std::vector<float>{10, 0, 0, 20, 0, 0}));
  const auto column = fragment<ScalarFragment<int32_t, Space::kColumn>>({4, 5, 6});
  const auto chosen = select(mask, column, -1);
  static_assert(is<decltype(chosen), int32_t, Space::kColumn>);
  EXPECT_EQ(lanes(chosen), (std::vector<int32_t>{-1, 5, 6}));
}

TEST(FragmentTest, ConstantFillsEveryLane) {
  EXPECT_EQ(lanes(ElementValues::constant(3.0f)), std::vector<float>(6, 3.0f));
  EXPECT_EQ(lanes(constant<RowValues>(2.0f)), std::vector<float>(2, 2.0f));
  EXPECT_EQ(constant<float>(2.5f), 2.5f);
}

}  // namespace
}  // namespace coda
