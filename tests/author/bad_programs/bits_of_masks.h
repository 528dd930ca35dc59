// expect 11: && || ! of masks
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    tile.store(out, coda::select((z > 0.0f) & (z < 1.0f), z, 0.0f));
  }
};
