// expect 11: coda: reduce takes a RowReduce or ColumnReduce
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerRow<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(scale, tile.accumulator());
    tile.store(out, tile.accumulator());
  }
};
