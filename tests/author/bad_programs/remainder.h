// expect 10: a remainder is x - n
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, coda::select(tile.column() % 2 == 0, tile.accumulator(), 0.0f));
  }
};
