// out = residual + tanh(scale ⊙ A Bgᵀ) ⊙ (A Bvᵀ): a gated adapter; two GEMMs over one A.
#pragma once
#include <coda/program/program.h>

template <class T>
struct TanhGate {
  coda::PerColumn<const float> scale;  // [N]
  coda::PerElement<const T> residual;  // [M, N]
  coda::Store<T> out;                  // [M, N]

  static constexpr const char* name = "tanh_gate";
  static constexpr auto port_names = coda::names("scale", "residual", "out");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto gate = coda::tanh(tile.accumulator(0) * tile.load(scale));
    tile.store(out, tile.load(residual) + gate * tile.accumulator(1));
  }
};
