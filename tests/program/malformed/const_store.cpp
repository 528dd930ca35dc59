// expect: coda: Store writes bf16, fp16 or float
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<const float> gate;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("gate", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
