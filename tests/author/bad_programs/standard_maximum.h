// expect 11: coda::max(a, b)
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    tile.store(out, std::fmax(acc, 0.0f));
  }
};
