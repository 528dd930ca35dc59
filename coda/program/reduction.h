// Reductions: identity, lift (a value becomes a state), combine (of two states), finish. State<V>
// is V or an aggregate of up to four V; V is a float or a fragment, so that one text serves a SIMD
// loop, a warp shuffle and a single number. pull_back(x, value, dvalue), which `coda derive` takes,
// gives the gradient of what is lifted from the value that everything is finished to and its
// gradient; a reduction that is finished to several values names them (value_names).
#pragma once
#include "coda/program/math.h"

namespace coda {

template <class R>
concept Reduction = requires(typename R::template State<float> state) {
  { R::template identity<float>() } -> stdlib::same_as<typename R::template State<float>>;
  { R::combine(state, state) } -> stdlib::same_as<typename R::template State<float>>;
  { R::finish(state) } -> stdlib::convertible_to<float>;
};

// A reduction whose combine is expensive may also offer combine_all(running, more): the running
// state and an array of others (a power of two) at once. Executors that have several states of one
// row in registers then call it instead.
template <class R>
concept CombinesAll = Reduction<R> && requires(const typename R::template State<float> running,
                                               const typename R::template State<float> (&more)[2]) {
  { R::combine_all(running, more) } -> stdlib::same_as<typename R::template State<float>>;
};

// v[0] + ... + v[kCount - 1], or another operation, by halves; v is used up.
template <class V, int kCount, class Operation>
CODA_HD V combine_halves(V (&v)[kCount], Operation&& operation) {
  static_assert((kCount & (kCount - 1)) == 0);
  CODA_UNROLL
  for (int distance = kCount / 2; distance > 0; distance /= 2) {
    CODA_UNROLL
    for (int i = 0; i < distance; ++i) v[i] = operation(v[i], v[i + distance]);
  }
  return v[0];
}

struct Sum {
  template <class V>
  using State = V;
  template <class V>
  static CODA_HD V identity() {
    return constant<V>(0.0f);
  }
  template <class V>
  static CODA_HD V lift(const V& x) {
    return x;
  }
  template <class V>
  static CODA_HD V combine(const V& a, const V& b) {
    return a + b;
  }
  static CODA_HD float finish(float sum) { return sum; }
  template <class V>
  static CODA_HD stdlib::array<V, 1> pull_back(const stdlib::array<V, 1>&,
                                               const stdlib::array<V, 1>&,
                                               const stdlib::array<V, 1>& dsum) {
    return dsum;
  }
};

struct Max {
  template <class V>
  using State = V;
  template <class V>
  static CODA_HD V identity() {
    return constant<V>(-stdlib::numeric_limits<float>::infinity());
  }
  template <class V>
  static CODA_HD V lift(const V& x) {
    return x;
  }
  template <class V>
  static CODA_HD V combine(const V& a, const V& b) {
    return max(a, b);
  }
  static CODA_HD float finish(float value) { return value; }
  template <class V>
  static CODA_HD stdlib::array<V, 1> pull_back(const stdlib::array<V, 1>& x,
                                               const stdlib::array<V, 1>& top,
                                               const stdlib::array<V, 1>& dtop) {
    // x is computed again, perhaps not in the same roundings.
    const V least = top[0] - constant<V>(0x1p-18f) * abs(top[0]);
    return {select(x[0] < least, constant<V>(0.0f), dtop[0])};
  }
};

struct LogSumExp {  // log Σ exp(x), carried as (max, Σ exp(x - max))
  template <class V>
  struct State {
    V max, sum;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    return {constant<V>(-stdlib::numeric_limits<float>::infinity()), constant<V>(0.0f)};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& x) {
    return {x, constant<V>(1.0f)};
  }
  template <class V>
  static CODA_HD auto is_infinite(const V& x) {
    return abs(x) == stdlib::numeric_limits<float>::infinity();
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    const V top = coda::max(a.max, b.max);
    const V shift = select(is_infinite(top), constant<V>(0.0f), top);  // ∞ - ∞ would be NaN
    return {top, a.sum * exp(a.max - shift) + b.sum * exp(b.max - shift)};
  }
  // The largest first, so that every state takes one exponential.
  template <class V, int kCount>
  static CODA_HD State<V> combine_all(const State<V>& running, const State<V> (&more)[kCount]) {
    V value[kCount];
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) value[i] = more[i].max;
    const V top =
        coda::max(running.max,
                  combine_halves(value, [](const V& a, const V& b) { return V(coda::max(a, b)); }));
    const V shift = select(is_infinite(top), constant<V>(0.0f), top);
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) value[i] = more[i].sum * exp(more[i].max - shift);
    const V sum = combine_halves(value, [](const V& a, const V& b) { return V(a + b); });
    return {top, running.sum * exp(running.max - shift) + sum};
  }
  static CODA_HD float finish(const State<float>& state) {
    return select(is_infinite(state.max), state.max, state.max + log(state.sum));
  }
  template <class V>
  static CODA_HD stdlib::array<V, 1> pull_back(const stdlib::array<V, 1>& x,
                                               const stdlib::array<V, 1>& lse,
                                               const stdlib::array<V, 1>& dlse) {
    return {dlse[0] * share(x[0], lse[0])};
  }
  // exp(x - lse), at most 1 also with the lse of other numbers than these.
  template <class V>
  static CODA_HD V share(const V& x, const V& lse) {
    return exp(coda::min(x - lse, constant<V>(0.0f)));
  }
};

// Σx and Σx²: what the mean and the variance of a row are finished from.
struct Moments {
  template <class V>
  struct State {
    V sum, squares;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    return {constant<V>(0.0f), constant<V>(0.0f)};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& x) {
    return {x, x * x};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  static CODA_HD float finish(const State<float>& state) { return state.sum; }
  static constexpr const char* value_names[] = {"sum", "squares"};
  template <class V>
  static CODA_HD stdlib::array<V, 1> pull_back(const stdlib::array<V, 1>& x,
                                               const stdlib::array<V, 2>&,
                                               const stdlib::array<V, 2>& dvalue) {
    return {dvalue[0] + constant<V>(2.0f) * x[0] * dvalue[1]};
  }
};

// The mean of a row from its partial sums: Σx/width.
struct Mean {
  using Reduction = Sum;
  static constexpr const char* parameter_names[] = {"width"};
  float width = 1.0f;

  template <class V>
  CODA_HD V finish(const V& sum) const {
    return sum / width;
  }
  CODA_HD float derivative(float) const { return 1.0f / width; }
};

// RMSNorm's row factor from the partial sums of squares: (Σx²/width + ε)^(-1/2).
struct ReciprocalRms {
  using Reduction = Sum;
  static constexpr const char* parameter_names[] = {"width", "epsilon"};
  static constexpr bool never_zero = true;  // what it multiplied may be divided by it again
  float width = 1.0f, epsilon = 0.0f;

  template <class V>
  CODA_HD V finish(const V& sum_of_squares) const {
    return rsqrt(sum_of_squares / width + epsilon);
  }
  CODA_HD float derivative(float sum_of_squares) const {
    const float r = finish(sum_of_squares);
    return -0.5f / width * r * r * r;
  }
};

// LayerNorm's mean of a row from its partial moments: μ = Σx/width.
struct RowMean {
  using Reduction = Moments;
  static constexpr const char* parameter_names[] = {"width"};
  float width = 1.0f;

  template <class V>
  CODA_HD V finish(const Moments::State<V>& state) const {
    return state.sum / width;
  }
};

// LayerNorm's row factor from the same partials: (Σx²/width − μ² + ε)^(-1/2). The variance, which
// rounding may take below 0, is at least 0.
struct ReciprocalDeviation {
  using Reduction = Moments;
  static constexpr const char* parameter_names[] = {"width", "epsilon"};
  static constexpr bool never_zero = true;
  float width = 1.0f, epsilon = 0.0f;

  template <class V>
  CODA_HD V finish(const Moments::State<V>& state) const {
    const V mean = state.sum / width;
    return rsqrt(max(state.squares / width - mean * mean, V(0)) + epsilon);
  }
};

}  // namespace coda
