// expect: coda: PerColumn holds bf16, fp16 or float
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerColumn<const int32_t> bias;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("bias", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
