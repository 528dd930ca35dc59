// expect: coda: load of an Optional port takes the value to use where the port is missing
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::Optional<coda::PerRow<const float>> scale;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("scale", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(scale));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
