// expect: coda: only a Paired port is stored with two values
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> up;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("up", "out");
  static constexpr int accumulators = 2;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(up, tile.accumulator(0), tile.accumulator(1));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
