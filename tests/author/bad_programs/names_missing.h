// expect 5: coda: a program names its ports
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
