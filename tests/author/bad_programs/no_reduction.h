// expect 7: coda: a reduction has State, identity, lift, combine and finish
#pragma once
#include <coda/program/program.h>

struct Bad {
  struct Mean {};
  coda::RowReduce<Mean> sums;
  static constexpr auto port_names = coda::names("sums");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
  }
};
