// Back through z = r·(x⊙γ) Wᵀ and the residual stream beside it. A holds r·dz (as
// linear_swiglu_backward leaves it), so that the normalised row is never needed:
//   dx = dx_in + acc⊙γ − x·(r²·w), acc = A·W, w = Σ z·dz / width,
// and dγ are the column sums of acc⊙x. The weight γ is kept, or folded into W (then acc⊙γ is acc,
// and its gradient is left to linear_weight_grad).
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: stored activations and weights; Stream: the residual stream and its gradient, T or float.
template <class T, class Stream = T>
struct LinearNormBackward {
  PerElement<const Stream> x;                // [M, h]
  Optional<PerElement<const Stream>> dx_in;  // [M, h]: along the stream; without it 0
  PerColumn<const T> gamma;                  // [h]
  PerRowFrom<ReciprocalRms> rstd;            // [parts, M]: Σx², gives r
  PerRowFrom<Mean> dots;                     // [parts, M]: Σ z·dz, gives w
  Store<Stream> dx;                          // [M, h]
  Optional<Store<T>> scaled;                 // [M, h]: x⊙γ again, for the gradient of W
  ColumnReduce<Sum> dgamma;                  // [⌈M/64⌉, h]

  static constexpr const char* name = "linear_norm_backward";
  static constexpr auto port_names =
      names("x", "dx_in", "gamma", "rstd", "dots", "dx", "scaled", "dgamma");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator(), stream = tile.load(x);
    const auto weight = tile.load(gamma);
    const auto r = tile.load(rstd);
    const auto through = acc * weight - stream * (r * r * tile.load(dots));
    tile.store(dx, tile.load(dx_in, 0.0f) + through);
    tile.store(scaled, stream * weight);
    tile.reduce(dgamma, acc * stream);
  }
};

template <class T, class Stream = T>
struct LinearNormBackwardFolded {
  PerElement<const Stream> x;                // [M, h]
  Optional<PerElement<const Stream>> dx_in;  // [M, h]: along the stream; without it 0
  PerRowFrom<ReciprocalRms> rstd;            // [parts, M]: Σx², gives r
  PerRowFrom<Mean> dots;                     // [parts, M]: Σ z·dz, gives w
  Store<Stream> dx;                          // [M, h]

  static constexpr const char* name = "linear_norm_backward";
  static constexpr auto port_names = names("x", "dx_in", "rstd", "dots", "dx");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto r = tile.load(rstd);
    const auto through = tile.accumulator() - tile.load(x) * (r * r * tile.load(dots));
    tile.store(dx, tile.load(dx_in, 0.0f) + through);
  }
};

}  // namespace coda::catalogue
