// expect 6: remedy: ports: PerRow
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerToken<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
