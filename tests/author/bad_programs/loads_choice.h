// expect 11: coda: a Choice is no value
#pragma once
#include <coda/program/program.h>
enum class Way { kPlain, kTwice };
struct Bad {
  coda::Choice<Way, Way::kTwice> way;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("way", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * coda::to_float(tile.load(way)));
  }
};
