// Back through out = f(z) of linear_activation, da = A W with A the gradient of what W gave:
//   dz = da·f'(z),
// the operand of both gradients of the GEMM that made z. Of a LayerNorm before that GEMM, its
// gradient needs of the row Σ dz·(z − offset − bias) and Σ dz·shift (linear_layer_norm_backward).
#pragma once
#include "coda/catalogue/activation.h"
#include "coda/program/lanes.h"

namespace coda::catalogue {

template <class T>
struct LinearActivationBackward {
  PerElement<const T> before;                      // [M, F]: z, as linear_activation left it
  Optional<PerColumn<const float>> shift, offset;  // [F] each, as there; without them 0
  Optional<PerColumn<const T>> bias;               // [F]
  PlainActivationPort activation{Activation::kGeluTanh};
  Store<T> dz;                        // [M, F]; may be the memory of before
  Optional<Store<T>> out;             // [M, F]: f(z) again, for the gradient of W
  Optional<RowReduce<Sum>> dots;      // [⌈F/64⌉, M]: of dz·(z − offset − bias)
  Optional<RowReduce<Sum>> shifts;    // [⌈F/64⌉, M]: of dz·shift
  Optional<ColumnReduce<Sum>> dbias;  // [⌈M/64⌉, F]: of dz

  static constexpr const char* name = "linear_activation_backward";
  static constexpr auto port_names = names("before", "shift", "offset", "bias", "activation", "dz",
                                           "out", "dots", "shifts", "dbias");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const Activation kind = tile.choice(activation);
    const auto added = tile.load(offset, 0.0f) + tile.load(bias, 0.0f);
    const auto [gradient, activated, dot, moved] = map_lanes(
        [&](auto da, auto z, auto c, auto s) {
          const auto f = activate_or_keep_with_slope<stdlib::is_same_v<T, float>>(kind, z);
          const auto d = da * f.slope;
          return stdlib::array{d, f.value, d * (z - c), d * s};
        },
        tile.accumulator(), tile.load(before), added, tile.load(shift, 0.0f));
    tile.reduce(dots, dot);
    tile.reduce(shifts, moved);
    tile.reduce(dbias, gradient);
    tile.store(dz, gradient);
    tile.store(out, activated);
  }
};

}  // namespace coda::catalogue
