// expect: coda: a reduction has State, identity, lift, combine and finish
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::RowReduce<coda::op::Add> sum;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("sum", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
