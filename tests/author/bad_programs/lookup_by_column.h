// expect 12: coda: lookup takes one integer per row
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PairTable<const float> table;
  coda::Store<float> out;
  static constexpr int accumulators = 2;
  static constexpr auto port_names = coda::names("table", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto turned = tile.lookup(table, tile.column());
    tile.store(out, tile.accumulator() * turned.first);
  }
};
