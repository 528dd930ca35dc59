#pragma once
#include <coda/program/program.h>

struct ScaledRelu {                    // out = relu(scale ⊙ (A Bᵀ)), and the row sums of out²
  coda::PerColumn<const float> scale;  // [N]
  coda::Store<float> out;              // [M, N]
  coda::RowReduce<coda::Sum> squares;  // [⌈N/64⌉, M]
  static constexpr auto port_names = coda::names("scale", "out", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto y = coda::relu(tile.accumulator() * tile.load(scale));
    tile.store(out, y);
    tile.reduce(squares, y * y);
  }
};
