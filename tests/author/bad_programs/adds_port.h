// expect 11: tile.load(port) gives its value
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const float> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() + bias);
  }
};
