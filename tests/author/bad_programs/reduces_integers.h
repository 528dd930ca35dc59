// expect 10: coda:
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::RowReduce<coda::Sum> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.column());
  }
};
