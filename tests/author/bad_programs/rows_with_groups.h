// expect 5: coda: a program with group sums has no RowReduce
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::RowReduce<coda::Sum> sums;
  static constexpr auto port_names = coda::names("sums");
  static constexpr bool groups = true;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
  }
};
