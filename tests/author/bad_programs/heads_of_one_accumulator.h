// expect 5: static constexpr int accumulators = 2;
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerHead<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(scale));
  }
};
