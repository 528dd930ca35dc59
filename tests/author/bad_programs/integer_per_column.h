// expect 6: coda: PerColumn holds bf16, fp16 or float
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::PerColumn<const int32_t> ids;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("ids", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};
