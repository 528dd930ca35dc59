// A user's reduction with three members: count, mean and sum of squared deviations (Chan's update).
#pragma once
#include "coda/program/reduction.h"

namespace coda {

struct Spread {
  template <class V>
  struct State {
    V count, mean, deviations;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    return {constant<V>(0.0f), constant<V>(0.0f), constant<V>(0.0f)};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& x) {
    return {constant<V>(1.0f), x, constant<V>(0.0f)};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    const V count = a.count + b.count;
    const V share =
        select(count == 0.0f, constant<V>(0.0f), b.count / max(count, constant<V>(1.0f)));
    const V distance = b.mean - a.mean;
    return {count, a.mean + distance * share,
            a.deviations + b.deviations + distance * distance * a.count * share};
  }
  static CODA_HD float finish(const State<float>& state) {  // the variance
    return state.deviations / state.count;
  }
};

// (max, Σexp(x - max), Σx, x at the target): what cross-entropy with label smoothing needs, four
// members from two values.
struct SmoothedLogSumExp {
  template <class V>
  struct State {
    V max, sum, total, target;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    return {constant<V>(-stdlib::numeric_limits<float>::infinity()), constant<V>(0.0f),
            constant<V>(0.0f), constant<V>(0.0f)};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& x, const V& at_target) {
    return {x, constant<V>(1.0f), x, at_target};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    const auto lse =
        LogSumExp::combine(LogSumExp::State<V>{a.max, a.sum}, LogSumExp::State<V>{b.max, b.sum});
    return {lse.max, lse.sum, a.total + b.total, a.target + b.target};
  }
  static CODA_HD float finish(const State<float>& state) { return state.max + log(state.sum); }
};

}  // namespace coda
