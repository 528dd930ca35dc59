// expect 11: coda: a Paired port is stored with both halves
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Paired<coda::Store<float>> out;
  static constexpr auto port_names = coda::names("out");
  static constexpr int accumulators = 2;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
