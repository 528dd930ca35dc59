// expect: coda: a program is a plain struct of ports: no constructors
#include "coda/cpu/instantiate.h"

struct Malformed {
  Malformed() {}
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
