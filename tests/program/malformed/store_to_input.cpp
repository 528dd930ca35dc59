// expect: coda: store writes to a Store port
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerElement<const float> residual;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("residual", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(residual, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
