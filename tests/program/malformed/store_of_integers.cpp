// expect: coda: floats are stored
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerRow<const int32_t> target;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("target", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.load(target));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
