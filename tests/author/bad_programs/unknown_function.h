// expect 10: functions on values: sqrt rsqrt exp
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, coda::softmax(tile.accumulator()));
  }
};
