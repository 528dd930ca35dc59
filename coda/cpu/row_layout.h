// The fragment layout of the CPU executor: a row of vectors (simd.h).
#pragma once
#include "coda/cpu/simd.h"
#include "coda/program/math.h"

namespace coda::cpu {

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
