// expect 10: coda: reduce takes as many values
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::RowReduce<coda::Sum> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator(), tile.accumulator());
  }
};
