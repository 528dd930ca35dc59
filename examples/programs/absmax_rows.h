// out = clamp(A Bᵀ ⊙ inverse_scale, -448, 448), what a quantiser to eight bits is given, and
// max|A Bᵀ| of every 64 columns: the scale of the next step.
#pragma once
#include <coda/program/program.h>

template <class T>
struct AbsmaxRows {
  coda::PerRow<const float> inverse_scale;  // [M]
  coda::Store<T> out;                       // [M, N]
  coda::RowReduce<coda::Max> largest;       // [⌈N/64⌉, M]

  static constexpr const char* name = "absmax_rows";
  static constexpr auto port_names = coda::names("inverse_scale", "out", "largest");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    tile.store(out, coda::clamp(z * tile.load(inverse_scale), -448.0f, 448.0f));
    tile.reduce(largest, coda::abs(z));
  }
};
