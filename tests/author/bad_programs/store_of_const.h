// expect 6: coda: Store writes bf16, fp16 or float
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<const float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
