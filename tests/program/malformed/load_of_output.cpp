// expect: coda: load reads an input port
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> gate;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("gate", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.load(gate));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
