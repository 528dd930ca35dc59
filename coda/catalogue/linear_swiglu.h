// a = f(g)·u with (g, u) = rstd ⊙ (A Wgᵀ, A Wuᵀ): the gated half of an MLP on a normalised input
// whose row factor is applied here. f is silu, or another activation.
#pragma once
#include "coda/catalogue/activation.h"

namespace coda::catalogue {

template <class T>
struct LinearSwiglu {
  Optional<PerRowFrom<ReciprocalRms>>
      rstd;  // [parts, M]: Σx² of A's rows; without it the factor is 1
  ActivationPort activation{Activation::kSilu};
  Optional<Store<T>> gate, up;  // [M, F] each, for the backward pass
  Store<T> out;                 // [M, F]

  static constexpr const char* name = "linear_swiglu";
  static constexpr auto port_names = names("rstd", "activation", "gate", "up", "out");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto scale = tile.load(rstd, 1.0f);
    const auto g = tile.accumulator(0) * scale, u = tile.accumulator(1) * scale;
    tile.store(gate, g);
    tile.store(up, u);
    tile.store(out, activate(tile.choice(activation), g) * u);
  }
};

}  // namespace coda::catalogue
