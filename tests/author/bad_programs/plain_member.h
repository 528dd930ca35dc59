// expect 5: coda: every member of a program is a port
#pragma once
#include <coda/program/program.h>

struct Bad {
  float scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * scale);
  }
};
