// expect 10: coda: store writes to a Store port; a reduction takes reduce(port, value)
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::RowReduce<coda::Sum> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(sums, tile.accumulator());
  }
};
