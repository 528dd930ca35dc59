// expect 6: coda: a row partial covers 64 or 128 columns
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::RowReduce<coda::Sum, 32> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
  }
};
