// expect 5: coda: a program is a plain struct of ports
#pragma once
#include <coda/program/program.h>

struct Bad {
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }

 private:
  coda::Store<float> out;
};
