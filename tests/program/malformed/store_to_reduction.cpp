// expect: coda: store writes to a Store port
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::RowReduce<coda::Sum> sum;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("sum", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(sum, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
