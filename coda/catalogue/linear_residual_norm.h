// x1 = A Wᵀ (+ bias) + x and the partial sums of x1², from which the next GEMM finishes RMSNorm's
// row factor. The norm's weight γ is kept (x1⊙γ is stored too, the next GEMM's A) or folded into
// the next weight (nothing more to store).
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: stored activations and weights; Stream: the residual stream, T or float.
template <class T, class Stream = T>
struct LinearResidualNorm {
  PerElement<const Stream> residual;  // [M, h]
  Optional<PerColumn<const T>> bias;  // [h]
  PerColumn<const T> gamma;           // [h]: the weight of the norm that follows
  Store<Stream> out;                  // [M, h]
  Store<T> scaled;                    // [M, h]: x1⊙γ
  RowReduce<Sum> squares;             // [⌈h/64⌉, M]

  static constexpr const char* name = "linear_residual_norm";
  static constexpr auto port_names = names("residual", "bias", "gamma", "out", "scaled", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator() + tile.load(bias, 0.0f) + tile.load(residual);
    tile.store(out, x);
    tile.store(scaled, x * tile.load(gamma));
    tile.reduce(squares, x * x);
  }
};

template <class T, class Stream = T>
struct LinearResidualNormFolded {
  PerElement<const Stream> residual;  // [M, h]
  Optional<PerColumn<const T>> bias;  // [h]
  Store<Stream> out;                  // [M, h]
  RowReduce<Sum> squares;             // [⌈h/64⌉, M]

  static constexpr const char* name = "linear_residual_norm";
  static constexpr auto port_names = names("residual", "bias", "out", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator() + tile.load(bias, 0.0f) + tile.load(residual);
    tile.store(out, x);
    tile.reduce(squares, x * x);
  }
};

}  // namespace coda::catalogue
