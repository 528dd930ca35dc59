// expect 5: coda: a program has one accumulator or two
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  static constexpr int accumulators = 3;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
