// expect 11: coda::select(condition, a, b)
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto x = tile.accumulator();
    while (x > 1.0f) x = x * 0.5f;
    tile.store(out, x);
  }
};
