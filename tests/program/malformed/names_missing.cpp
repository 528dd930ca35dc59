// expect: coda: a program names its ports: static constexpr auto port_names
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> out;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
