// The largest value and where it stands, the first of equals; a NaN is above all numbers. In
// docs/authoring.md as a reduction of one's own.
#pragma once
#include <coda/program/program.h>

struct ArgMax {
  template <class V>
  struct State {
    V value, column;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    constexpr float kInfinity = coda::stdlib::numeric_limits<float>::infinity();
    return {coda::constant<V>(-kInfinity), coda::constant<V>(kInfinity)};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& value, const V& column) {
    return {value, column};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    const auto a_nan = a.value != a.value, b_nan = b.value != b.value;
    const auto a_above = (a.value > b.value || a_nan) && !b_nan;
    const auto b_above = (b.value > a.value || b_nan) && !a_nan;
    const V first = coda::min(a.column, b.column);
    const V column = coda::select(a_above, a.column, coda::select(b_above, b.column, first));
    return {coda::max(a.value, b.value), column};
  }
  static CODA_HD float finish(const State<float>& state) { return state.value; }
};
