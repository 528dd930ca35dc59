// expect 11: coda: lookup reads a PairTable
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const float> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto pair = tile.lookup(bias, tile.row());
    tile.store(out, pair.first);
  }
};
