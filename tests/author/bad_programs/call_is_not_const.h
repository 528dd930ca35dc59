// expect 5: operator()(Tile& tile) const
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) {
    tile.store(out, tile.accumulator());
  }
};
