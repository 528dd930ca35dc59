// dW = dZᵀ X, or added to what is there: A = dZᵀ and B = Xᵀ, both stored with their rows contiguous
// ([tokens, N] and [tokens, K] as the layers before and after left them).
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

// T: of the gradient, that of the weights or float.
template <class T>
struct LinearWeightGrad {
  Optional<PerElement<const T>> c;  // [N, K]: added; may be the very memory of out
  Store<T> out;                     // [N, K]

  static constexpr const char* name = "linear_weight_grad";
  static constexpr auto port_names = names("c", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() + tile.load(c, 0.0f));
  }
};

}  // namespace coda::catalogue
