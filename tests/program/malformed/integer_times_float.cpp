// expect: coda: this operation does not take fragments of these element types together
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::PerRow<const int32_t> position;
  coda::Store<float> out;
  static constexpr auto port_names = coda::names("position", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(position));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
