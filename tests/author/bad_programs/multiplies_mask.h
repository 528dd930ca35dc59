// expect 10: select(mask, 1.0f, 0.0f)
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, (tile.accumulator() > 0.0f) * tile.accumulator());
  }
};
