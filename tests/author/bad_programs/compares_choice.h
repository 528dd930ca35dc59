// expect 11: tile.choice(port) says which way
#pragma once
#include <coda/program/program.h>
enum class Way { kPlain, kTwice };
struct Bad {
  coda::Choice<Way, Way::kTwice> way;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("way", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, way == Way::kTwice ? 2.0f * tile.accumulator() : tile.accumulator());
  }
};
