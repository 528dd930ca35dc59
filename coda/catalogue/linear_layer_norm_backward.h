// Back through z = n Wᵀ + b, n = x̂⊙γ + β, x̂ = (x − μ)·r, and the residual stream beside it. A
// holds dz (as linear_activation_backward leaves it); acc = A·W is the gradient of n:
//   dx = dx_in + r·(acc⊙γ − m1 − x̂·m2), m1 = Σ dz·shift / width,
//   m2 = Σ dz·(z − offset − b) / width,
// dγ and dβ are the column sums of acc⊙x̂ and acc.
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: stored activations and weights; Stream: the residual stream and its gradient, T or float.
template <class T, class Stream = T>
struct LinearLayerNormBackward {
  PerElement<const Stream> x;                // [M, h]
  Optional<PerElement<const Stream>> dx_in;  // [M, h]: along the stream; without it 0
  PerColumn<const T> gamma, beta;            // [h] each
  PerRowFrom<RowMean> mean;                  // [parts, M]: (Σx, Σx²), gives μ
  PerRowFrom<ReciprocalDeviation> rstd;      // [parts, M]: the same, gives r
  PerRowFrom<Mean> dots;                     // [parts, M]: Σ dz·(z − offset − b), gives m2
  PerRowFrom<Mean> shifts;                   // [parts, M]: Σ dz·shift, gives m1
  Store<Stream> dx;                          // [M, h]
  Optional<Store<T>> normed;                 // [M, h]: n again, for the gradient of W
  ColumnReduce<Sum> dgamma, dbeta;           // [⌈M/64⌉, h] each
  Optional<ColumnReduce<Sum>> dcolumns;      // [⌈M/64⌉, h]: of dx, for a bias that x1 had added

  static constexpr const char* name = "linear_layer_norm_backward";
  static constexpr auto port_names = names("x", "dx_in", "gamma", "beta", "mean", "rstd", "dots",
                                           "shifts", "dx", "normed", "dgamma", "dbeta", "dcolumns");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    const auto weight = tile.load(gamma);
    const auto r = tile.load(rstd);
    const auto unit = (tile.load(x) - tile.load(mean)) * r;
    const auto through = (acc * weight - tile.load(shifts) - unit * tile.load(dots)) * r;
    const auto gradient = tile.load(dx_in, 0.0f) + through;
    tile.reduce(dgamma, acc * unit);
    tile.reduce(dbeta, acc);
    tile.reduce(dcolumns, gradient);
    tile.store(dx, gradient);
    tile.store(normed, unit * weight + tile.load(beta));
  }
};

}  // namespace coda::catalogue
