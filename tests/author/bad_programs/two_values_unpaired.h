// expect 10: coda: only a Paired port is stored with two values
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator(), tile.accumulator());
  }
};
