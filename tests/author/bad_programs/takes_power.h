// expect 10: remedy: functions on values
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, coda::pow(tile.accumulator(), 2.0f));
  }
};
