// expect 5: members by value: no references
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const float>& bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() + tile.load(bias));
  }
};
