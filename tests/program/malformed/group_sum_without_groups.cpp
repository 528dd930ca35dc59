// expect: coda: a program that calls group_sum says so
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerRow<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  static constexpr int accumulators = 2;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.group_sum(tile.accumulator()));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
