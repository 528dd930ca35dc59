// Vectors of the instruction set this file is compiled for, on Google Highway: loads, stores,
// functions. Included only by files that are compiled once per instruction set (coda_add_program
// does that).
#pragma once
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "coda/core/types.h"
#include "coda/cpu/isa.h"

namespace coda::cpu {

#if HWY_STATIC_TARGET == HWY_AVX3
inline constexpr Isa kThisIsa = Isa::kAvx512;
#elif HWY_STATIC_TARGET == HWY_AVX2
inline constexpr Isa kThisIsa = Isa::kAvx2;
#elif HWY_STATIC_TARGET == HWY_SCALAR
#error \
    "coda: this file has to be compiled once per instruction set; add it with coda_add_program(target file.cpp)"
#else
inline constexpr Isa kThisIsa = Isa::kPortable;
#endif

namespace simd {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using BitsTag = hn::ScalableTag<uint32_t>;
using HalfBitsTag = hn::Rebind<uint16_t, FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using IntVector = hn::Vec<IntTag>;
using MaskVector = hn::Mask<FloatTag>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));

HWY_INLINE FloatVector load(const float* p) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE FloatVector load(const bf16* p) {
  const auto bits =
      hn::PromoteTo(BitsTag(), hn::LoadU(HalfBitsTag(), reinterpret_cast<const uint16_t*>(p)));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits));
}
// Without a conversion instruction Highway truncates to fp16 and takes infinities for numbers; this
// is core/types.h on vectors.
HWY_INLINE FloatVector widen_fp16(hn::Vec<BitsTag> bits) {
  const BitsTag d;
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000u)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d, 0x7fffu)));
  const auto scaled =
      hn::BitCast(d, hn::Mul(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0x1p112f)));
  const auto special = hn::Gt(hn::BitCast(IntTag(), magnitude), hn::Set(IntTag(), 0x0f7fffff));
  const auto nan =
      hn::RebindMask(d, hn::Gt(hn::BitCast(IntTag(), magnitude), hn::Set(IntTag(), 0x0f800000)));
  const auto infinite =
      hn::Or(magnitude, hn::IfThenElse(nan, hn::Set(d, 0x70400000u), hn::Set(d, 0x70000000u)));
  return hn::BitCast(FloatTag(),
                     hn::Or(sign, hn::IfThenElse(hn::RebindMask(d, special), infinite, scaled)));
}
HWY_INLINE hn::Vec<BitsTag> narrow_fp16(FloatVector v) {
  const BitsTag d;
  const auto bits = hn::BitCast(d, v);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffffu));
  const auto above = [&](int32_t limit) {
    return hn::RebindMask(d, hn::Gt(hn::BitCast(IntTag(), magnitude), hn::Set(IntTag(), limit)));
  };
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1u));
  const auto normal = hn::ShiftRight<13>(
      hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(d, 0xfffu))), hn::Set(d, 0x38000000u)));
  const auto shifted = hn::Add(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0.5f));
  const auto subnormal = hn::Sub(hn::BitCast(d, shifted), hn::Set(d, 0x3f000000u));
  auto result = hn::IfThenElse(above(0x387fffff), normal, subnormal);
  result = hn::IfThenElse(above(0x477fefff), hn::Set(d, 0x7c00u), result);  // rounds to 2^16
  const auto payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 0x3ffu));
  result = hn::IfThenElse(above(0x7f800000), hn::Or(payload, hn::Set(d, 0x7e00u)), result);
  return hn::Or(result, hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000u)));
}
HWY_INLINE FloatVector load(const fp16* p) {
  if constexpr (kThisIsa == Isa::kPortable) {
    return widen_fp16(
        hn::PromoteTo(BitsTag(), hn::LoadU(HalfBitsTag(), reinterpret_cast<const uint16_t*>(p))));
  } else {
    return hn::PromoteTo(FloatTag(), hn::LoadU(hn::Rebind<hwy::float16_t, FloatTag>(),
                                               reinterpret_cast<const hwy::float16_t*>(p)));
  }
}

HWY_INLINE void store(FloatVector v, float* p) { hn::StoreU(v, FloatTag(), p); }
// In the upper halves: nearest even; a NaN stays a NaN.
HWY_INLINE hn::Vec<BitsTag> round_to_bf16(FloatVector v) {
  const auto bits = hn::BitCast(BitsTag(), v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(BitsTag(), 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(BitsTag(), 0x7fffu)));
  const auto nan = hn::RebindMask(BitsTag(), hn::IsNaN(v));
  return hn::IfThenElse(nan, hn::Or(bits, hn::Set(BitsTag(), 0x400000u)), rounded);
}
HWY_INLINE void store(FloatVector v, bf16* p) {
  hn::StoreU(hn::TruncateTo(HalfBitsTag(), hn::ShiftRight<16>(round_to_bf16(v))), HalfBitsTag(),
             reinterpret_cast<uint16_t*>(p));
}
HWY_INLINE void store(FloatVector v, fp16* p) {
  if constexpr (kThisIsa == Isa::kPortable) {
    hn::StoreU(hn::TruncateTo(HalfBitsTag(), narrow_fp16(v)), HalfBitsTag(),
               reinterpret_cast<uint16_t*>(p));
  } else {
    const hn::Rebind<hwy::float16_t, FloatTag> tag;
    hn::StoreU(hn::DemoteTo(tag, v), tag, reinterpret_cast<hwy::float16_t*>(p));
  }
}

// Two vectors, one after the other in memory.
template <class T>
HWY_INLINE void store_both(FloatVector first, FloatVector second, T* p) {
  if constexpr (kThisIsa == Isa::kAvx512 && std::is_same_v<T, bf16>) {
    const hn::ScalableTag<uint16_t> d;
    hn::StoreU(hn::ConcatOdd(d, hn::BitCast(d, round_to_bf16(second)),
                             hn::BitCast(d, round_to_bf16(first))),
               d, reinterpret_cast<uint16_t*>(p));
  } else {
    store(first, p);
    store(second, p + kLanes);
  }
}

// p·2^n for whole numbers n of at most 150 in magnitude.
HWY_INLINE FloatVector scale_by_power(FloatVector p, FloatVector n) {
#if HWY_STATIC_TARGET == HWY_AVX3
  return FloatVector{_mm512_scalef_ps(p.raw, n.raw)};
#else
  const IntTag d;
  const auto power = [&](auto exponent) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(d, 127))));
  };
  const auto whole = hn::NearestInt(n), half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(p, power(half)), power(hn::Sub(whole, half)));
#endif
}

// e^x = 2^n·e^r with |r| <= ln 2 / 2. e^r: 1 + r + r²·q(r), least squares in relative error,
// reweighted towards the largest, which is 2^-28. Beyond the bounds the result is 0 or infinity.
HWY_INLINE FloatVector exp(FloatVector x) {
  const FloatTag d;
  const auto set = [&](float value) { return hn::Set(d, value); };
  const auto y = hn::Max(set(-104.0f), hn::Min(set(89.0f), x));
  const auto n = hn::Round(hn::Mul(y, set(1.44269504f)));
  // ln 2 in two parts, of which n times the first is exact.
  auto r = hn::NegMulAdd(n, set(0x1.62e4p-1f), y);
  r = hn::NegMulAdd(n, set(0x1.7f7d1cp-20f), r);
  auto q = set(1.3814540580e-03f);
  q = hn::MulAdd(q, r, set(8.3687454462e-03f));
  q = hn::MulAdd(q, r, set(4.1668388993e-02f));
  q = hn::MulAdd(q, r, set(1.6666521132e-01f));
  q = hn::MulAdd(q, r, set(4.9999994040e-01f));
  const auto p = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), set(1.0f));
  const auto scaled = scale_by_power(p, n);
#if HWY_STATIC_TARGET == HWY_AVX3
  return scaled;  // minima and maxima gave a NaN, their second operand, and so did all others
#else
  return hn::IfThenElse(hn::IsNaN(x), x, scaled);
#endif
}
// Highway's takes finite arguments in range; this follows IEEE outside of it.
HWY_INLINE FloatVector log(FloatVector x) {
  const FloatTag d;
  const auto infinity = hn::Inf(d), zero = hn::Zero(d);
  auto y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Or(hn::Lt(x, zero), hn::IsNaN(x)), hn::NaN(d), y);
}
// erf(x) = x + x·s(x²) below 0.9 and 1 - e^-p(x) above it, which from 4 on rounds to 1.
// Coefficients: least squares in relative error, reweighted towards the largest (2^-26 and 2^-29);
// in fp32 1.2 ulp (tests/cpu/simd_math_test.cpp).
HWY_INLINE FloatVector erf(FloatVector x) {
  const FloatTag d;
  const auto a = hn::Min(hn::Abs(x), hn::Set(d, 4.0f)), t = hn::Mul(a, a);
  auto s = hn::Set(d, -6.090342649e-04f);
  s = hn::MulAdd(s, t, hn::Set(d, 5.011959933e-03f));
  s = hn::MulAdd(s, t, hn::Set(d, -2.677890658e-02f));
  s = hn::MulAdd(s, t, hn::Set(d, 1.128214076e-01f));
  s = hn::MulAdd(s, t, hn::Set(d, -3.761252463e-01f));
  s = hn::MulAdd(s, t, hn::Set(d, 1.283791512e-01f));
  auto p = hn::Set(d, 1.993428741e-04f);
  p = hn::MulAdd(p, a, hn::Set(d, -3.076371038e-03f));
  p = hn::MulAdd(p, a, hn::Set(d, 2.235800587e-02f));
  p = hn::MulAdd(p, a, hn::Set(d, -1.042011753e-01f));
  p = hn::MulAdd(p, a, hn::Set(d, -6.368778944e-01f));
  p = hn::MulAdd(p, a, hn::Set(d, -1.127854586e+00f));
  p = hn::MulAdd(p, a, hn::Set(d, -1.528053108e-04f));
  const auto large = hn::Sub(hn::Set(d, 1.0f), exp(p));
  const auto y = hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.9f)), hn::MulAdd(a, s, a), large);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

// a·b + c in one rounding. Without such an instruction by way of doubles, which hold a product of
// floats exactly.
HWY_INLINE FloatVector fma(FloatVector a, FloatVector b, FloatVector c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const FloatTag d;
  const hn::Half<FloatTag> half;
  const hn::RepartitionToWide<FloatTag> wide;
  const auto part = [&](auto x, auto y, auto z) {
    return hn::DemoteTo(half, hn::Add(hn::Mul(hn::PromoteTo(wide, x), hn::PromoteTo(wide, y)),
                                      hn::PromoteTo(wide, z)));
  };
  return hn::Combine(d,
                     part(hn::UpperHalf(half, a), hn::UpperHalf(half, b), hn::UpperHalf(half, c)),
                     part(hn::LowerHalf(half, a), hn::LowerHalf(half, b), hn::LowerHalf(half, c)));
#endif
}

}  // namespace simd

}  // namespace coda::cpu
