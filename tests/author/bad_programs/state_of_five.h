// expect 18: coda: a state is one number or a struct of up to four
#pragma once
#include <coda/program/program.h>
struct Five {
  template <class V>
  struct State {
    V a, b, c, d, e;
  };
  template <class V>
  static CODA_HD State<V> identity();
  template <class V>
  static CODA_HD State<V> lift(const V& x);
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b);
  static CODA_HD float finish(const State<float>& state);
};
struct Bad {
  coda::RowReduce<Five> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
  }
};
