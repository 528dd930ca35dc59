// expect 12: a PairTable takes lookup(port, row)
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PairTable<const float> angles;
  coda::Store<float> out;
  static constexpr int accumulators = 2;
  static constexpr auto port_names = coda::names("angles", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.load(angles));
  }
};
