// expect: coda: reduce takes a RowReduce or ColumnReduce port
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Store<float> gate;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("gate", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(gate, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
