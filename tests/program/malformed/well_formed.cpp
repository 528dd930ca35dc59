#include "coda/cpu/instantiate.h"

struct Malformed {  // it is not: what the other files get wrong, this one has right
  coda::PerRow<const float> scale;
  coda::Optional<coda::PerColumn<const float>> bias;
  coda::Paired<coda::Store<float>> out;
  static constexpr auto port_names = coda::names("scale", "bias", "out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto sum = tile.group_sum(tile.accumulator(0)) * tile.load(scale);
    const auto mask = tile.column() < 3 && tile.row() >= 1;
    tile.store(out, sum + tile.load(bias, 0.0f), coda::select(mask, tile.accumulator(1), 0.0f));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
