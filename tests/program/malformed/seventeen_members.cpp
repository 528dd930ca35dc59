// expect: coda: a program has between 1 and 16 ports
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Scalar<float> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                                 "k", "l", "m", "n", "o", "p", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template struct coda::cpu::Epilogue<Malformed>;
