// x1 = A Wᵀ (+ bias) + x and the partial moments (Σx1, Σx1²), from which the next GEMM finishes
// LayerNorm's mean and row factor. x1⊙γ, the next GEMM's A, is stored too; β goes with that GEMM
// (linear_activation).
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: stored activations and weights; Stream: the residual stream, T or float.
template <class T, class Stream = T>
struct LinearResidualLayerNorm {
  PerElement<const Stream> residual;  // [M, h]
  Optional<PerColumn<const T>> bias;  // [h]
  PerColumn<const T> gamma;           // [h]: the weight of the norm that follows
  Store<Stream> out;                  // [M, h]
  Store<T> scaled;                    // [M, h]: x1⊙γ
  RowReduce<Moments> moments;         // [⌈h/64⌉, M]

  static constexpr const char* name = "linear_residual_layer_norm";
  static constexpr auto port_names = names("residual", "bias", "gamma", "out", "scaled", "moments");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator() + tile.load(bias, 0.0f) + tile.load(residual);
    tile.store(out, x);
    tile.store(scaled, x * tile.load(gamma));
    tile.reduce(moments, x);
  }
};

}  // namespace coda::catalogue
