// expect 12: a value over rows, over columns or over elements stays what it is
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerRow<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto value = tile.load(scale);
    value += tile.accumulator();
    tile.store(out, value);
  }
};
