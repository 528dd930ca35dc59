// Programs for inspect_test.cpp that are wrong in what they compute, not in their types.
#pragma once
#include "coda/program/program.h"
#include "tests/program/arg_max.h"

namespace coda::author {

struct KeepsCount {
  Store<float> out;
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    static float count = 0;
    count += 1.0f;
    tile.store(out, tile.accumulator() * count);
  }
};

inline bool stored_before = false;
struct KeepsOrder {
  Store<float> first, second;
  static constexpr auto port_names = names("first", "second");
  template <class Tile>
  void operator()(Tile& tile) const {
    stored_before = !stored_before;
    const auto z = tile.accumulator();
    tile.store(stored_before ? first : second, z);
    tile.store(stored_before ? second : first, relu(z));
  }
};

// A reduction of numbers by a function that says what combine does.
template <class Function>
struct ReducedBy {
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
    return Function()(a, b);
  }
  static CODA_HD float finish(float x) { return x; }
};

template <class Reduction>
struct Reduces {
  RowReduce<Reduction> sums;
  static constexpr auto port_names = names("sums");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
  }
};

template <class Reduction>
struct ReducesPlaces {  // of values beside their columns
  RowReduce<Reduction> top;
  static constexpr auto port_names = names("top");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(top, tile.accumulator(), to_float(tile.column()));
  }
};

struct ArgMaxOfSome : ArgMax {  // of equals the one on the left, wherever that stands
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    return {max(a.value, b.value), select(a.value >= b.value, a.column, b.column)};
  }
};

struct ArgMinFromBelow : ArgMax {  // which a finite number never leaves
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    return {min(a.value, b.value),
            select(a.value < b.value, a.column,
                   select(a.value > b.value, b.column, min(a.column, b.column)))};
  }
};

struct Larger {  // whose identity is not 0
  template <class V>
  V operator()(const V& a, const V& b) const {
    return max(a, b);
  }
};
struct Twice {
  template <class V>
  V operator()(const V& a, const V& b) const {
    return a + b + a * a * b;
  }
};
struct RootOfSquares {  // of which only the sign of one number is lost
  template <class V>
  V operator()(const V& a, const V& b) const {
    return sqrt(a * a + b * b);
  }
};
struct Halves {
  template <class V>
  V operator()(const V& a, const V& b) const {
    return select(a == 0.0f, b, select(b == 0.0f, a, 0.5f * (a + b)));
  }
};

}  // namespace coda::author
