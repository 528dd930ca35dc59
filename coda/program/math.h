// What programs write: operators and functions on fragments and on plain floats, closed under each
// other.
#pragma once
#include "coda/program/fragment.h"
#include "coda/program/operation.h"

namespace coda {

template <class A, class B>
concept FragmentPair =
    (AnyFragment<A> && (AnyFragment<B> || Number<B>)) || (Number<A> && AnyFragment<B>);

template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator+(const A& a, const B& b) {
  return map(op::Add{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator-(const A& a, const B& b) {
  return map(op::Subtract{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator*(const A& a, const B& b) {
  return map(op::Multiply{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator/(const A& a, const B& b) {
  return map(op::Divide{}, a, b);
}
template <AnyFragment A>
CODA_HD auto operator-(const A& a) {
  return map(op::Negate{}, a);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator<(const A& a, const B& b) {
  return map(op::Less{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator>(const A& a, const B& b) {
  return map(op::Less{}, b, a);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator<=(const A& a, const B& b) {
  return map(op::LessEqual{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator>=(const A& a, const B& b) {
  return map(op::LessEqual{}, b, a);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator==(const A& a, const B& b) {
  return map(op::Equal{}, a, b);
}
template <class A, class B>
  requires FragmentPair<A, B>
CODA_HD auto operator!=(const A& a, const B& b) {
  return map(op::NotEqual{}, a, b);
}
template <AnyFragment A, AnyFragment B>
CODA_HD auto operator&&(const A& a, const B& b) {
  return map(op::And{}, a, b);
}
template <AnyFragment A, AnyFragment B>
CODA_HD auto operator||(const A& a, const B& b) {
  return map(op::Or{}, a, b);
}
template <AnyFragment A>
CODA_HD auto operator!(const A& a) {
  return map(op::Not{}, a);
}

namespace detail {
// Plain numbers are computed at once, anything with a fragment in it lane by lane.
template <class Operation, class... T>
CODA_HD auto evaluate(Operation operation, const T&... values) {
  if constexpr ((AnyFragment<T> || ...)) {
    return map(operation, values...);
  } else {
    return operation(values...);
  }
}
}  // namespace detail

template <class T>
concept Value = AnyFragment<T> || Number<T>;

CODA_HD auto sqrt(const Value auto& x) { return detail::evaluate(op::Sqrt{}, x); }
CODA_HD auto rsqrt(const Value auto& x) { return detail::evaluate(op::Rsqrt{}, x); }
CODA_HD auto exp(const Value auto& x) { return detail::evaluate(op::Exp{}, x); }
CODA_HD auto log(const Value auto& x) { return detail::evaluate(op::Log{}, x); }
CODA_HD auto tanh(const Value auto& x) { return detail::evaluate(op::Tanh{}, x); }
CODA_HD auto erf(const Value auto& x) { return detail::evaluate(op::Erf{}, x); }
CODA_HD auto abs(const Value auto& x) { return detail::evaluate(op::Abs{}, x); }
CODA_HD auto floor(const Value auto& x) { return detail::evaluate(op::Floor{}, x); }
CODA_HD auto min(const Value auto& a, const Value auto& b) {
  return detail::evaluate(op::Min{}, a, b);
}
CODA_HD auto max(const Value auto& a, const Value auto& b) {
  return detail::evaluate(op::Max{}, a, b);
}
CODA_HD auto fma(const Value auto& a, const Value auto& b, const Value auto& c) {
  return detail::evaluate(op::Fma{}, a, b, c);
}
CODA_HD auto select(const Value auto& condition, const Value auto& a, const Value auto& b) {
  return detail::evaluate(op::Select{}, condition, a, b);
}
CODA_HD auto to_float(const AnyFragment auto& x) { return map(op::ToFloat{}, x); }

CODA_HD auto clamp(const Value auto& x, const Value auto& low, const Value auto& high) {
  return min(max(x, low), high);
}
CODA_HD auto sigmoid(const Value auto& x) { return 1.0f / (1.0f + exp(-x)); }
CODA_HD auto silu(const Value auto& x) { return x / (1.0f + exp(-x)); }
CODA_HD auto relu(const Value auto& x) { return select(x < 0.0f, 0.0f, x); }  // relu(NaN) is NaN
CODA_HD auto gelu(const Value auto& x) { return 0.5f * x * (1.0f + erf(x * 0.70710678f)); }
CODA_HD auto gelu_tanh(const Value auto& x) {
  return x * sigmoid(1.59576912f * (x + 0.044715f * x * x * x));  // (1 + tanh(y))/2 = σ(2y)
}

// One number as a V: a fragment, or the number itself. For reductions, whose states are made of
// either.
template <class V>
CODA_HD V constant(float value) {
  if constexpr (AnyFragment<V>) {
    return V::constant(value);
  } else {
    return V(value);
  }
}

}  // namespace coda
