// Element types: bf16 and fp16 as 16-bit patterns with explicit conversions (round to nearest
// even), and their run-time names.
#pragma once
#include "coda/core/std.h"

namespace coda {

struct bf16 {
  uint16_t bits;
};
struct fp16 {
  uint16_t bits;
};

CODA_HD float to_float(float value) { return value; }

CODA_HD float to_float(bf16 value) {
  return stdlib::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

CODA_HD float to_float(fp16 value) {
  // The exponent is rebased by a multiplication, which also normalises subnormals.
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7fffu) << 13;
  if (magnitude >=
      0x0f800000u) {  // infinity, or NaN, which becomes quiet as in the processors' conversions
    return stdlib::bit_cast<float>(sign | (magnitude > 0x0f800000u ? 0x70400000u : 0x70000000u) |
                                   magnitude);
  }
  const float scaled = stdlib::bit_cast<float>(magnitude) * 0x1p112f;
  return stdlib::bit_cast<float>(sign | stdlib::bit_cast<uint32_t>(scaled));
}

template <class T>
CODA_HD T from_float(float value);

template <>
CODA_HD float from_float<float>(float value) {
  return value;
}

template <>
CODA_HD bf16 from_float<bf16>(float value) {
  const uint32_t bits = stdlib::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {  // NaN stays NaN: quiet, payload cut
    return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  }
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

template <>
CODA_HD fp16 from_float<fp16>(float value) {
  const uint32_t bits = stdlib::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // likewise
    return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  }
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds to 2^16
  if (magnitude <
      0x38800000u) {  // subnormal: adding 1/2 leaves the rounded mantissa in the low bits
    const float shifted = stdlib::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (stdlib::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

enum class DType { kBf16, kFp16, kFp32, kInt32, kInt64, kState };

template <class T>
struct DTypeOf {  // anything else that a port may hold is the state of a reduction
  static constexpr DType value = DType::kState;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::kBf16;
};
template <>
struct DTypeOf<fp16> {
  static constexpr DType value = DType::kFp16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFp32;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<stdlib::remove_cv_t<T>>::value;

constexpr const char* dtype_name(DType type) {
  switch (type) {
    case DType::kBf16: return "bf16";
    case DType::kFp16: return "fp16";
    case DType::kFp32: return "fp32";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kState: return "state";
  }
  return "unknown";
}

constexpr int64_t dtype_bytes(DType type) {  // of a state: its port knows
  return type == DType::kBf16 || type == DType::kFp16 ? 2 : type == DType::kInt64 ? 8 : 4;
}

constexpr bool is_integer(DType type) { return type == DType::kInt32 || type == DType::kInt64; }

template <class T>
concept FloatElement = stdlib::is_same_v<stdlib::remove_const_t<T>, float> ||
                       stdlib::is_same_v<stdlib::remove_const_t<T>, bf16> ||
                       stdlib::is_same_v<stdlib::remove_const_t<T>, fp16>;
template <class T>
concept IntegerElement = stdlib::is_same_v<stdlib::remove_const_t<T>, int32_t> ||
                         stdlib::is_same_v<stdlib::remove_const_t<T>, int64_t>;

// 64-bit indices as programs see them: those that do not fit are none that is valid.
CODA_HD constexpr int32_t saturate(int64_t value) {
  constexpr int64_t kLow = stdlib::numeric_limits<int32_t>::min();
  constexpr int64_t kHigh = stdlib::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}

}  // namespace coda
