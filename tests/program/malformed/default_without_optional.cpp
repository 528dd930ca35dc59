// expect: coda: only the load of an Optional port takes a second argument
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerRow<const float> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(scale, 1.0f));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
