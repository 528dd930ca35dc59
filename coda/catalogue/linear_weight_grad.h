// dW = α·dZᵀ X, or added to what is there: A = dZᵀ and B = Xᵀ, both stored with their rows
// contiguous ([tokens, N] and [tokens, K] as the layers before and after left them). With a norm's
// weight γ folded into W (W' = W⊙γ made the layer's output), what the GEMM gives is dW', and
// dW = dW'⊙γ, dγ = Σ over rows of W⊙dW'.
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: of the gradient, that of the weights or float.
template <class T>
struct LinearWeightGrad {
  Scalar<float> alpha{1.0f};         // such as the gradient of the loss, on the device
  Optional<PerElement<const T>> c;   // [N, K]: added; may be the very memory of out
  Store<T> out;                      // [N, K]
  Optional<RowReduce<Sum>> squares;  // [⌈K/64⌉, N]: of out², before out is rounded

  static constexpr const char* name = "linear_weight_grad";
  static constexpr auto port_names = names("alpha", "c", "out", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto dw = tile.accumulator() * tile.load(alpha) + tile.load(c, 0.0f);
    tile.store(out, dw);
    tile.reduce(squares, dw * dw);
  }
};

// Weight: of the weights and of γ.
template <class T, class Weight = T>
struct LinearWeightGradFolded {
  Scalar<float> alpha{1.0f};
  Optional<PerElement<const T>> c;   // [N, K]: added; may be the very memory of out
  PerElement<const Weight> weight;   // [N, K]: W, without γ
  PerColumn<const Weight> gamma;     // [K]
  Store<T> out;                      // [N, K]
  Optional<RowReduce<Sum>> squares;  // [⌈K/64⌉, N]: of out², before out is rounded
  ColumnReduce<Sum> dgamma;          // [⌈N/64⌉, K]

  static constexpr const char* name = "linear_weight_grad";
  static constexpr auto port_names =
      names("alpha", "c", "weight", "gamma", "out", "squares", "dgamma");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto folded = tile.accumulator() * tile.load(alpha);
    const auto dgamma_terms = folded * tile.load(weight);
    const auto dw = folded * tile.load(gamma) + tile.load(c, 0.0f);
    tile.store(out, dw);
    tile.reduce(squares, dw * dw);
    tile.reduce(dgamma, dgamma_terms);
  }
};

}  // namespace coda::catalogue
