// expect: coda: a program is a plain struct of ports: no constructors, no private members
#include "coda/cpu/instantiate.h"

class Malformed {
 public:
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }

 private:
  coda::Store<float> out;
};

template struct coda::cpu::Epilogue<Malformed>;
