// Back through out = f(gate)·up, da = A Wd with A the gradient of what Wd gave:
//   dg = da·up·f'(gate), du = da·f(gate)
// and through the row factor before it: dgate = rstd ⊙ dg, dup = rstd ⊙ du, so that they are the
// operands of both gradients of the GEMM that made gate and up. Σ gate·dg + up·du is what the
// norm's gradient needs of the row (linear_norm_backward).
#pragma once
#include "coda/catalogue/activation.h"
#include "coda/program/lanes.h"

namespace coda::catalogue {

template <class T>
struct LinearSwigluBackward {
  PerElement<const T> gate, up;              // [M, F] each, as linear_swiglu left them
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]; without it the factor is 1
  ActivationPort activation{Activation::kSilu};
  Store<T> dgate, dup;            // [M, F] each; may be the memory of gate and up
  Optional<Store<T>> out;         // [M, F]: f(gate)·up again, for the gradient of Wd
  Optional<RowReduce<Sum>> dots;  // [⌈F/64⌉, M]: of gate·dg + up·du

  static constexpr const char* name = "linear_swiglu_backward";
  static constexpr auto port_names =
      names("gate", "up", "rstd", "activation", "dgate", "dup", "out", "dots");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const Activation kind = tile.choice(activation);
    const auto [dg, du, activated, dot] = map_lanes(
        [&](auto da, auto g, auto u, auto r) {
          const auto f = activate_with_slope<stdlib::is_same_v<T, float>>(kind, g);
          const auto dg = da * u * f.slope, du = da * f.value;
          return stdlib::array{dg * r, du * r, f.value * u, g * dg + u * du};
        },
        tile.accumulator(), tile.load(gate), tile.load(up), tile.load(rstd, 1.0f));
    tile.reduce(dots, dot);
    tile.store(dgate, dg);
    tile.store(dup, du);
    tile.store(out, activated);
  }
};

}  // namespace coda::catalogue
