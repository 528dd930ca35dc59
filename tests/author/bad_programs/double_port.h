// expect 6: coda: PerColumn holds bf16, fp16 or float
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const double> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() + tile.load(bias));
  }
};
