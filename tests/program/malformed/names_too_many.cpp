// expect: coda: port_names has one name for every member of the program, in order
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
