// dW = A Bᵀ (+ c) with A = dZᵀ, B = Xᵀ; unfused: a matmul in the gradient's type, then an addition.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_weight_grad_reference(const reference::Arrays& in,
                                                      const reference::Rounding& round) {
  using reference::Array;
  Array dw = round.as("out", round.matmul(in.at("A"), in.at("B")));
  if (in.contains("c")) dw = round.as("out", dw + in.at("c"));
  return {{"out", dw}};
}

}  // namespace coda::catalogue
