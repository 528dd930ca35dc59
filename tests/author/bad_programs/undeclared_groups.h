// expect 10: coda: a program that calls group_sum says so
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.group_sum(tile.accumulator()));
  }
};
