// expect: coda: a program is a plain struct of ports
#include "coda/cpu/instantiate.h"

struct Base {
  coda::PerRow<const float> scale;
};
struct Malformed : Base {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
