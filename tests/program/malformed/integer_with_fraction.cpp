// expect: coda: a number beside an integer fragment is an integer too
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerRow<const int32_t> position;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("position", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, to_float(tile.load(position) * 0.5f));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
