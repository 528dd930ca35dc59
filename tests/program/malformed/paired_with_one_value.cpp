// expect: coda: a Paired port is stored with both halves
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Paired<coda::Store<float>> both;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("both", "out");
  static constexpr int accumulators = 2;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(both, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
