// dW = α·A Bᵀ (+ c) with A = dZᵀ, B = Xᵀ, and Σ dW² per 64 columns; with a folded γ
// dW = α·A Bᵀ⊙γ (+ c), dγ = Σ W⊙α·A Bᵀ per 64 rows. Unfused: a matmul in the gradient's type, the
// products, then the addition.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_weight_grad_reference(const reference::Arrays& in,
                                                      const reference::Rounding& round) {
  using reference::Array;
  reference::Arrays result;
  const Array product = given_or(in, "alpha", 1) * round.matmul(in.at("A"), in.at("B"));
  Array dw = round.as("out", product);
  if (in.contains("gamma")) {
    const Array dgamma =
        round.column_partial_sums(in.at("weight") * dw, segments_of(in, "segments.M"));
    result["dgamma"] = round.as("dgamma", dgamma);
    dw = round.as("out", dw * in.at("gamma"));
  }
  if (in.contains("c")) dw = round.as("out", dw + in.at("c"));
  const Array squares = round.row_partial_sums(dw * dw, segments_of(in, "segments.N"));
  result["squares"] = round.as("squares", squares);
  result["out"] = dw;
  return result;
}

}  // namespace coda::catalogue
