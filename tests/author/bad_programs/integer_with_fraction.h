// expect 10: coda: a number beside an integer fragment is an integer too
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, coda::to_float(tile.row() + 0.5f));
  }
};
