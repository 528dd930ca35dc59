// expect 11: coda: store writes to a Store port
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const float> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(bias, tile.accumulator());
    tile.store(out, tile.accumulator());
  }
};
