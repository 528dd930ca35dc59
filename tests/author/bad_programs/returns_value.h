// expect 5: coda: operator() returns nothing
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD auto operator()(Tile& tile) const {
    return tile.accumulator();
  }
};
