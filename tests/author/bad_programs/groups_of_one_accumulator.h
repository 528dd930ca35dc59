// expect 5: static constexpr int accumulators = 2;
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  static constexpr bool groups = true;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.group_sum(tile.accumulator()));
  }
};
