// SIMD lanes for the instruction set this file is compiled for, on Google Highway: the fragment
// layout of the CPU executor. Included only by files that are compiled once per instruction set
// (coda_add_program does that).
#pragma once
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "coda/core/types.h"
#include "coda/cpu/isa.h"
#include "coda/program/math.h"

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

#if HWY_STATIC_TARGET == HWY_AVX3
// e^x = 2^n·e^r with |r| <= ln 2 / 2. vscalefps makes overflow and subnormals what they should be,
// and a NaN passes the bounds, as the second operand. e^r: 1 + r + r²·q(r), least squares in
// relative error, reweighted towards the largest, which is 2^-28.
HWY_INLINE FloatVector exp(FloatVector x) {
  const auto set = [](float value) { return _mm512_set1_ps(value); };
  const auto y = _mm512_max_ps(set(-104.0f), _mm512_min_ps(set(89.0f), x.raw));
  const auto n = _mm512_roundscale_ps(_mm512_mul_ps(y, set(1.44269504f)),
                                      _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts, of which n times the first is exact.
  auto r = _mm512_fnmadd_ps(n, set(0x1.62e4p-1f), y);
  r = _mm512_fnmadd_ps(n, set(0x1.7f7d1cp-20f), r);
  auto q = set(1.3814540580e-03f);
  q = _mm512_fmadd_ps(q, r, set(8.3687454462e-03f));
  q = _mm512_fmadd_ps(q, r, set(4.1668388993e-02f));
  q = _mm512_fmadd_ps(q, r, set(1.6666521132e-01f));
  q = _mm512_fmadd_ps(q, r, set(4.9999994040e-01f));
  const auto p = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r), set(1.0f));
  return FloatVector{_mm512_scalef_ps(p, n)};
}
#else
// Highway's takes finite arguments in range; this follows IEEE outside of it.
HWY_INLINE FloatVector exp(FloatVector x) {
  const FloatTag d;
  const auto y = hn::Exp(d, hn::Min(x, hn::Set(d, 100.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
#endif
// Highway's likewise.
HWY_INLINE FloatVector log(FloatVector x) {
  const FloatTag d;
  const auto infinity = hn::Inf(d), zero = hn::Zero(d);
  auto y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Or(hn::Lt(x, zero), hn::IsNaN(x)), hn::NaN(d), y);
}
// erf(x) = x·P(x²)/Q(x²) up to |x| = 3.92, beyond which it rounds to ±1. Coefficients: least
// squares in relative error, reweighted towards the largest; relative error below 2^-21
// (tests/cpu/simd_math_test.cpp).
HWY_INLINE FloatVector erf(FloatVector x) {
  const FloatTag d;
  const auto limit = hn::Set(d, 3.92f), one = hn::Set(d, 1.0f);
  const auto z = hn::Max(hn::Min(x, limit), hn::Neg(limit)), t = hn::Mul(z, z);
  auto p = hn::Set(d, 2.050070108e-06f);
  p = hn::MulAdd(p, t, hn::Set(d, 2.848827072e-04f));
  p = hn::MulAdd(p, t, hn::Set(d, 3.765654629e-03f));
  p = hn::MulAdd(p, t, hn::Set(d, 5.274884875e-02f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.904074544e-01f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.128379146e+00f));
  auto q = hn::Set(d, 3.809153253e-05f);
  q = hn::MulAdd(q, t, hn::Set(d, 1.162542772e-03f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.496929732e-02f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.141095140e-01f));
  q = hn::MulAdd(q, t, hn::Set(d, 5.020769541e-01f));
  q = hn::MulAdd(q, t, one);
  const auto y = hn::IfThenElse(hn::Lt(hn::Abs(x), limit),
                                hn::Max(hn::Min(hn::Div(hn::Mul(z, p), q), one), hn::Neg(one)),
                                hn::CopySign(one, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
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

// One row by kWidth columns: a per-row fragment is one vector of equal values.
template <Isa kIsa, int kWidth>
struct RowLayout {
  static_assert(kIsa == kThisIsa);
  static constexpr bool kMapsWhole = true;
  template <class Element>
  using Lane = stdlib::conditional_t<
      stdlib::is_same_v<Element, float>, simd::FloatVector,
      stdlib::conditional_t<stdlib::is_same_v<Element, bool>, simd::MaskVector, simd::IntVector>>;
  using F = simd::FloatVector;
  using I = simd::IntVector;
  using B = simd::MaskVector;
  static constexpr int kVectors = kWidth / simd::kLanes;

  static constexpr int count(Space space) {
    return join(space, Space::kColumn) == space ? kVectors : 1;
  }
  static constexpr int project(Space space, int i) { return space == Space::kColumn ? i : 0; }
  template <class Element>
  static CODA_HD Lane<Element> broadcast(Element value) {
    static_assert(stdlib::is_same_v<Element, float> || stdlib::is_same_v<Element, int32_t>);
    return simd::hn::Set(
        stdlib::conditional_t<stdlib::is_same_v<Element, float>, simd::FloatTag, simd::IntTag>(),
        value);
  }

  static CODA_HD F apply(op::Add, F a, F b) { return simd::hn::Add(a, b); }
  static CODA_HD F apply(op::Subtract, F a, F b) { return simd::hn::Sub(a, b); }
  static CODA_HD F apply(op::Multiply, F a, F b) { return simd::hn::Mul(a, b); }
  static CODA_HD F apply(op::Divide, F a, F b) { return simd::hn::Div(a, b); }
  static CODA_HD F apply(op::Fma, F a, F b, F c) { return simd::fma(a, b, c); }
  static CODA_HD F apply(op::Negate, F a) { return simd::hn::Neg(a); }
  static CODA_HD F apply(op::Abs, F a) { return simd::hn::Abs(a); }
  static CODA_HD F apply(op::Sqrt, F a) { return simd::hn::Sqrt(a); }
  static CODA_HD F apply(op::Rsqrt, F a) {
    return simd::hn::Div(simd::hn::Set(simd::FloatTag(), 1.0f), simd::hn::Sqrt(a));
  }
  static CODA_HD F apply(op::Floor, F a) {
    return simd::hn::Or(simd::hn::Floor(a), simd::hn::And(simd::hn::SignBit(simd::FloatTag()), a));
  }  // floor(-0) is -0
  static CODA_HD F apply(op::Exp, F a) { return simd::exp(a); }
  static CODA_HD F apply(op::Log, F a) { return simd::log(a); }
  static CODA_HD F apply(op::Tanh, F a) { return simd::hn::Tanh(simd::FloatTag(), a); }
  static CODA_HD F apply(op::Erf, F a) { return simd::erf(a); }
  static CODA_HD F apply(op::Min, F a, F b) {
    return simd::hn::IfThenElse(simd::hn::Or(simd::hn::Lt(b, a), simd::hn::IsNaN(b)), b, a);
  }
  static CODA_HD F apply(op::Max, F a, F b) {
    return simd::hn::IfThenElse(simd::hn::Or(simd::hn::Lt(a, b), simd::hn::IsNaN(b)), b, a);
  }
  static CODA_HD B apply(op::Less, F a, F b) { return simd::hn::Lt(a, b); }
  static CODA_HD B apply(op::LessEqual, F a, F b) { return simd::hn::Le(a, b); }
  static CODA_HD B apply(op::Equal, F a, F b) { return simd::hn::Eq(a, b); }
  // Highway's Ne is false of NaNs on x86.
  static CODA_HD B apply(op::NotEqual, F a, F b) { return simd::hn::Not(simd::hn::Eq(a, b)); }
  static CODA_HD F apply(op::Select, B condition, F a, F b) {
    return simd::hn::IfThenElse(condition, a, b);
  }

  static CODA_HD I apply(op::Add, I a, I b) { return simd::hn::Add(a, b); }
  static CODA_HD I apply(op::Subtract, I a, I b) { return simd::hn::Sub(a, b); }
  static CODA_HD I apply(op::Multiply, I a, I b) { return simd::hn::Mul(a, b); }
  static CODA_HD I apply(op::Fma, I a, I b, I c) { return simd::hn::Add(simd::hn::Mul(a, b), c); }
  static CODA_HD I apply(op::Negate, I a) { return simd::hn::Neg(a); }
  static CODA_HD I apply(op::Abs, I a) { return simd::hn::Abs(a); }
  static CODA_HD I apply(op::Min, I a, I b) { return simd::hn::Min(a, b); }
  static CODA_HD I apply(op::Max, I a, I b) { return simd::hn::Max(a, b); }
  static CODA_HD B apply(op::Less, I a, I b) { return mask(simd::hn::Lt(a, b)); }
  static CODA_HD B apply(op::LessEqual, I a, I b) {
    return mask(simd::hn::Not(simd::hn::Lt(b, a)));
  }
  static CODA_HD B apply(op::Equal, I a, I b) { return mask(simd::hn::Eq(a, b)); }
  static CODA_HD B apply(op::NotEqual, I a, I b) { return mask(simd::hn::Ne(a, b)); }
  static CODA_HD I apply(op::Select, B condition, I a, I b) {
    return simd::hn::IfThenElse(simd::hn::RebindMask(simd::IntTag(), condition), a, b);
  }
  static CODA_HD F apply(op::ToFloat, I a) { return simd::hn::ConvertTo(simd::FloatTag(), a); }

  static CODA_HD B apply(op::And, B a, B b) { return simd::hn::And(a, b); }
  static CODA_HD B apply(op::Or, B a, B b) { return simd::hn::Or(a, b); }
  static CODA_HD B apply(op::Not, B a) { return simd::hn::Not(a); }

 private:
  static CODA_HD B mask(simd::hn::Mask<simd::IntTag> m) {
    return simd::hn::RebindMask(simd::FloatTag(), m);
  }
};

}  // namespace coda::cpu
