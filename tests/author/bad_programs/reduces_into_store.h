// expect 10: coda: reduce takes a RowReduce or ColumnReduce port
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(out, tile.accumulator());
  }
};
