// expect: coda: a row partial covers 64 or 128 columns
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::RowReduce<coda::Sum, 32> sum;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("sum", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
