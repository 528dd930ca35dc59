// expect 5: coda: a program is a plain struct of ports
#pragma once
#include <coda/program/program.h>
struct Base {};
struct Bad : Base {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
