// What the cross-entropy of a row is finished from: (max, Σexp(x - max), Σx, x at the target).
#pragma once
#include "coda/program/reduction.h"

namespace coda {

struct CrossEntropySums {
  template <class V>
  struct State {
    V max, sum, total, target;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    return {constant<V>(-stdlib::numeric_limits<float>::infinity()), constant<V>(0.0f),
            constant<V>(0.0f), constant<V>(0.0f)};
  }
  // at_target: x where the column is the target, else 0.
  template <class V>
  static CODA_HD State<V> lift(const V& x, const V& at_target) {
    return {x, constant<V>(1.0f), x, at_target};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    const auto both = LogSumExp::combine(exponentials(a), exponentials(b));
    return {both.max, both.sum, a.total + b.total, a.target + b.target};
  }
  template <class V, int kCount>
  static CODA_HD State<V> combine_all(const State<V>& running, const State<V> (&more)[kCount]) {
    const auto add = [](const V& a, const V& b) { return V(a + b); };
    LogSumExp::State<V> exps[kCount];
    V total[kCount], target[kCount];
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      exps[i] = exponentials(more[i]);
      total[i] = more[i].total;
      target[i] = more[i].target;
    }
    const auto all = LogSumExp::combine_all(exponentials(running), exps);
    return {all.max, all.sum, running.total + combine_halves(total, add),
            running.target + combine_halves(target, add)};
  }
  // log Σexp(x)
  static CODA_HD float finish(const State<float>& state) {
    return LogSumExp::finish(exponentials(state));
  }
  static constexpr const char* value_names[] = {"lse", "total", "target"};
  template <class V>
  static CODA_HD stdlib::array<V, 2> pull_back(const stdlib::array<V, 2>& x,  // and at_target
                                               const stdlib::array<V, 3>& value,
                                               const stdlib::array<V, 3>& dvalue) {
    return {dvalue[0] * LogSumExp::share(x[0], value[0]) + dvalue[1], dvalue[2]};
  }

 private:
  template <class V>
  static CODA_HD LogSumExp::State<V> exponentials(const State<V>& state) {
    return {state.max, state.sum};
  }
};

}  // namespace coda
