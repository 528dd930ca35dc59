// bf16 and fp16 conversions against the formats' definition in fp64: every pattern, every midpoint.
#include "coda/core/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace coda {
namespace {

// A binary format: sign, exponent bits with the usual bias, mantissa bits, subnormals, infinity,
// NaN.
struct Format {
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int exponent_mask() const { return (1 << exponent_bits) - 1; }
  uint32_t infinity() const { return static_cast<uint32_t>(exponent_mask()) << mantissa_bits; }

  // The value of a pattern below infinity, sign included.
  double value(uint32_t pattern) const {
    const int exponent = static_cast<int>(pattern >> mantissa_bits) & exponent_mask();
    const int mantissa = static_cast<int>(pattern & ((1u << mantissa_bits) - 1));
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias() - mantissa_bits)
                                           : std::ldexp(mantissa + (1 << mantissa_bits),
                                                        exponent - bias() - mantissa_bits);
    return (pattern & 0x8000u) != 0 ? -magnitude : magnitude;
  }
  // The pattern, from 0 to infinity, that a positive number rounds to. Beyond the largest finite
  // value the grid goes on as if there were one more exponent, and that point is infinity.
  uint32_t round(double magnitude) const {
    uint32_t low = 0, high = infinity();
    const auto at = [&](uint32_t p) {
      return p == infinity() ? std::ldexp(1.0, exponent_mask() - bias()) : value(p);
    };
    if (magnitude >= at(high)) return high;
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (at(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - at(low), above = at(high) - magnitude;  // exact in fp64
    if (below != above) return below < above ? low : high;
    return low % 2 == 0 ? low : high;
  }
};

template <class T>
struct FormatOf;
template <>
struct FormatOf<bf16> {
  static constexpr Format value{8, 7};
};
template <>
struct FormatOf<fp16> {
  static constexpr Format value{5, 10};
};

template <class T>
class HalfType : public testing::Test {
 protected:
  static constexpr Format format = FormatOf<T>::value;
  static T pattern(uint32_t bits) { return {static_cast<uint16_t>(bits)}; }
  static uint32_t rounded(float value) { return from_float<T>(value).bits; }
};
using HalfTypes = testing::Types<bf16, fp16>;
TYPED_TEST_SUITE(HalfType, HalfTypes);

TYPED_TEST(HalfType, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float value = to_float(this->pattern(bits));
    const uint32_t magnitude = bits & 0x7fffu;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
    if (magnitude > this->format.infinity()) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else if (magnitude == this->format.infinity()) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), this->format.value(bits)) << bits;
    }
  }
}

TYPED_TEST(HalfType, EveryPatternComesBack) {
  const uint32_t quiet = 1u << (this->format.mantissa_bits - 1);
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const bool nan = (bits & 0x7fffu) > this->format.infinity();
    ASSERT_EQ(this->rounded(to_float(this->pattern(bits))), nan ? bits | quiet : bits);
  }
}

// Around every point where the rounding changes: the midpoint and its two neighbours in fp32.
TYPED_TEST(HalfType, RoundsToNearestEven) {
  for (uint32_t low = 0; low < this->format.infinity(); ++low) {
    const double here = this->format.value(low);
    const double next = low + 1 == this->format.infinity()
                            ? std::ldexp(1.0, this->format.exponent_mask() - this->format.bias())
                            : this->format.value(low + 1);
    const float middle = static_cast<float>((here + next) / 2);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float value :
         {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, infinity),
          std::nextafter(static_cast<float>(here), infinity)}) {
      const uint32_t expected = this->format.round(value);
      ASSERT_EQ(this->rounded(value), expected) << value;
      ASSERT_EQ(this->rounded(-value), expected | 0x8000u) << -value;
    }
  }
}

TYPED_TEST(HalfType, RoundsFloatsOfEveryMagnitude) {
  // 2^32 / 4999 floats, spread over all exponents and low bits.
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 4999) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const uint32_t expected = this->format.round(value);
    ASSERT_EQ(this->rounded(value), expected) << value;
    ASSERT_EQ(this->rounded(-value), expected | 0x8000u) << -value;
  }
}

TYPED_TEST(HalfType, OverflowsToInfinity) {
  const uint32_t infinity = this->format.infinity();
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::max()), infinity | 0x8000u);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::infinity()), infinity);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::infinity()), infinity | 0x8000u);
}

TYPED_TEST(HalfType, UnderflowsToSignedZero) {
  if (this->format.exponent_bits == 8) {  // the smallest bf16 is 2^-133, well within fp32
    EXPECT_EQ(this->rounded(std::numeric_limits<float>::denorm_min()), 0u);
    EXPECT_EQ(this->rounded(std::bit_cast<float>(0x8000u)), 0u);  // a tie: even
    EXPECT_EQ(this->rounded(std::bit_cast<float>(0x8001u)), 1u);
  } else {
    EXPECT_EQ(this->rounded(0x1p-25f), 0u);  // a tie: even
    EXPECT_EQ(this->rounded(std::nextafter(0x1p-25f, 1.0f)), 1u);
    EXPECT_EQ(this->rounded(-0x1p-30f), 0x8000u);
  }
  EXPECT_EQ(this->rounded(-0.0f), 0x8000u);
}

// Quiet, with sign and the leading bits of the payload, as vcvtps2ph and IEEE 754 have it.
TYPED_TEST(HalfType, KeepsNan) {
  const int shift = 23 - this->format.mantissa_bits;
  for (const uint32_t payload : {0x1u, 0x2000u, 0x155555u, 0x3fffffu, 0x400000u, 0x7fffffu}) {
    const uint32_t mantissa = (payload | 0x400000u) >> shift;
    const uint32_t expected = this->format.infinity() | mantissa;
    EXPECT_EQ(this->rounded(std::bit_cast<float>(0x7f800000u | payload)), expected) << payload;
    EXPECT_EQ(this->rounded(std::bit_cast<float>(0xff800000u | payload)), expected | 0x8000u);
  }
}

TEST(FloatConversion, IsTheIdentity) {
  EXPECT_EQ(from_float<float>(0.1f), 0.1f);
  EXPECT_EQ(to_float(-3.25f), -3.25f);
}

TEST(DTypeTest, NamesAndSizes) {
  static_assert(dtype_of<const bf16> == DType::kBf16 && dtype_of<fp16> == DType::kFp16);
  static_assert(dtype_of<const float> == DType::kFp32 && dtype_of<double> == DType::kState);
  static_assert(dtype_of<int32_t> == DType::kInt32 && dtype_of<const int64_t> == DType::kInt64);
  EXPECT_STREQ(dtype_name(DType::kBf16), "bf16");
  EXPECT_STREQ(dtype_name(DType::kFp16), "fp16");
  EXPECT_STREQ(dtype_name(DType::kFp32), "fp32");
  EXPECT_STREQ(dtype_name(DType::kInt32), "int32");
  EXPECT_STREQ(dtype_name(DType::kInt64), "int64");
  EXPECT_EQ(dtype_bytes(DType::kBf16), 2);
  EXPECT_EQ(dtype_bytes(DType::kFp16), 2);
  EXPECT_EQ(dtype_bytes(DType::kFp32), 4);
  EXPECT_EQ(dtype_bytes(DType::kInt32), 4);
  EXPECT_EQ(dtype_bytes(DType::kInt64), 8);
}

}  // namespace
}  // namespace coda
