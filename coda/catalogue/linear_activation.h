// out = f(z), z = rstd ⊙ (A Wᵀ − mean·shift) + offset + bias: a linear layer behind a LayerNorm
// whose mean and row factor are applied here. A holds x⊙γ, shift is γ Wᵀ and offset is β Wᵀ, both
// of one small GEMM (linear of [γ; β]). Without a norm: f(A Wᵀ + bias). f: gelu by tanh, or
// another.
#pragma once
#include "coda/catalogue/activation.h"

namespace coda::catalogue {

template <class T>
struct LinearActivation {
  Optional<PerRowFrom<RowMean>> mean;              // [parts, M]: (Σx, Σx²) of the row; without it 0
  Optional<PerRowFrom<ReciprocalDeviation>> rstd;  // [parts, M]: the same; without it 1
  Optional<PerColumn<const float>> shift, offset;  // [N] each: γ Wᵀ and β Wᵀ; without them 0
  Optional<PerColumn<const T>> bias;               // [N]
  PlainActivationPort activation{Activation::kGeluTanh};
  Optional<Store<T>> before;  // [M, N]: z, for the backward pass
  Store<T> out;               // [M, N]

  static constexpr const char* name = "linear_activation";
  static constexpr auto port_names =
      names("mean", "rstd", "shift", "offset", "bias", "activation", "before", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto centred = tile.accumulator() - tile.load(mean, 0.0f) * tile.load(shift, 0.0f);
    const auto z =
        centred * tile.load(rstd, 1.0f) + (tile.load(offset, 0.0f) + tile.load(bias, 0.0f));
    tile.store(before, z);
    tile.store(out, activate_or_keep(tile.choice(activation), z));
  }
};

}  // namespace coda::catalogue
