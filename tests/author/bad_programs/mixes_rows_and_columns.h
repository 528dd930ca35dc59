// expect 13: a value over rows, over columns or over elements stays what it is
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerRow<const float> scale;
  coda::PerColumn<const float> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto value = tile.load(scale);
    value = tile.load(bias);
    tile.store(out, tile.accumulator() + value);
  }
};
