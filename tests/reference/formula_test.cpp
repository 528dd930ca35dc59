// Rounding to storage types: against every value of the 16-bit types and their midpoints, and at
// the ends of their ranges.
#include "coda/reference/formula.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coda/core/error.h"

namespace coda::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double value_of(DType type, uint16_t bits) {
  return type == DType::kBf16 ? to_float(bf16{bits}) : to_float(fp16{bits});
}

// All finite values of the type from 0 up, whose bits count up with them.
void check_all_values(DType type, uint16_t infinity_bits) {
  for (uint16_t bits = 0; bits < infinity_bits; ++bits) {
    const double value = value_of(type, bits);
    ASSERT_EQ(round_to(type, value), value) << bits;
    ASSERT_EQ(round_to(type, -value), -value) << bits;
    if (bits + 1 == infinity_bits) break;
    const double next = value_of(type, static_cast<uint16_t>(bits + 1));
    const double middle = (value + next) / 2, even = bits % 2 == 0 ? value : next;
    ASSERT_EQ(round_to(type, middle), even) << bits;
    ASSERT_EQ(round_to(type, -middle), -even) << bits;
    ASSERT_EQ(round_to(type, std::nextafter(middle, 0)), value) << bits;
    ASSERT_EQ(round_to(type, std::nextafter(middle, kInfinity)), next) << bits;
  }
}

TEST(RoundTo, EveryBf16) { check_all_values(DType::kBf16, 0x7f80); }
TEST(RoundTo, EveryFp16) { check_all_values(DType::kFp16, 0x7c00); }

TEST(RoundTo, Fp32) {
  for (const double value : {0.1, 1.0 / 3, 1e-40, 1.17549435e-38, 3.4e38, 1e-46, 16777217.0}) {
    EXPECT_EQ(round_to(DType::kFp32, value), static_cast<double>(static_cast<float>(value)));
    EXPECT_EQ(round_to(DType::kState, -value), static_cast<double>(static_cast<float>(-value)));
  }
}

TEST(RoundTo, RoundsOnce) {
  // By way of fp32 this would become the midpoint 1 + 2^-8, and then 1.
  EXPECT_EQ(round_to(DType::kBf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::kFp16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::kBf16, 1 + 0x1p-8 - 0x1p-40), 1);
}

TEST(RoundTo, Overflow) {
  EXPECT_EQ(round_to(DType::kFp16, 65504), 65504);
  EXPECT_EQ(round_to(DType::kFp16, 65519.999), 65504);
  EXPECT_EQ(round_to(DType::kFp16, 65520), kInfinity);
  EXPECT_EQ(round_to(DType::kFp16, -1e300), -kInfinity);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.ffp127), kInfinity);
  EXPECT_EQ(round_to(DType::kBf16, 0x1.fefffp127), 0x1.fep127);
  EXPECT_EQ(round_to(DType::kFp32, 0x1.ffffffp127), kInfinity);
  EXPECT_EQ(round_to(DType::kFp32, 0x1.fffffefp127), 0x1.fffffep127);
}

TEST(RoundTo, SpecialValuesStay) {
  for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp32}) {
    EXPECT_TRUE(std::isnan(round_to(type, std::nan(""))));
    EXPECT_EQ(round_to(type, -kInfinity), -kInfinity);
    EXPECT_TRUE(std::signbit(round_to(type, -0.0)));
    EXPECT_TRUE(std::signbit(round_to(type, -1e-300)));
  }
}

TEST(Rounding, NoneChangesNothing) {
  const Rounding none;
  const Array x{{0.1, 1e300}};
  EXPECT_EQ(none(x), x);
  EXPECT_EQ(none.as("anything", x), x);
}

TEST(Rounding, RoundsToTheOperandsOrThePortsType) {
  const Rounding round(DType::kBf16, {{"out", DType::kFp32}, {"state", DType::kState}});
  const Array x{{1 + 0x1p-20}, {257}};
  EXPECT_EQ(round(x), (Array{{1}, {256}}));
  EXPECT_EQ(round.as("out", x), x);
  EXPECT_EQ(round.as("state", Array{{1 + 0x1p-30}}), Array(1.0));
  EXPECT_THROW(round.as("nothing", x), Error);
}

TEST(Rounding, UnfusedSumsAreInFp32) {
  const Rounding round(DType::kBf16, {});
  const Array ones{{1, 1}}, x{{0x1p24, 1}};
  EXPECT_EQ(round.matmul(ones, x), Array(0x1p24));
  EXPECT_EQ(Rounding().matmul(ones, x), Array(0x1p24 + 1));
  EXPECT_EQ(round.row_partial_sums(x), Array(0x1p24));
  EXPECT_EQ(Rounding().row_partial_sums(x), Array(0x1p24 + 1));
  EXPECT_EQ(round.column_partial_sums(transpose(x)), Array(0x1p24));
  EXPECT_EQ(Rounding().column_partial_sums(transpose(x)), Array(0x1p24 + 1));
}

TEST(Arrays, ArgumentsThatMayBeLeftOut) {
  const Arrays in{{"alpha", 3.0}, {"segments.N", Array{{2, 0, 5}}}};
  EXPECT_EQ(given_or(in, "alpha", 1), Array(3.0));
  EXPECT_EQ(given_or(in, "beta", 1), Array(1.0));
  EXPECT_EQ(segments_of(in, "segments.N"), (std::vector<int64_t>{2, 0, 5}));
  EXPECT_TRUE(segments_of(in, "segments.M").empty());
}

}  // namespace
}  // namespace coda::reference
