// expect: coda: every member of a program is a port
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> out;
  const float* bias;
  static constexpr auto port_names = coda::names("out", "bias");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
