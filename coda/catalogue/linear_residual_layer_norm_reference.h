// x1 = A Wᵀ (+ bias) + residual, x1⊙γ, Σx1 and Σx1² per 64 columns; unfused: linear, add, multiply,
// and the sums of the norm in fp32.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_residual_layer_norm_reference(const reference::Arrays& in,
                                                              const reference::Rounding& round) {
  using reference::Array;
  const Array y = round.matmul(in.at("A"), in.at("B")) + given_or(in, "bias", 0);
  const Array x = round.as("out", round(y) + in.at("residual"));
  const auto segments = segments_of(in, "segments.N");
  return {{"out", x},
          {"scaled", round.as("scaled", x * in.at("gamma"))},
          {"moments.0", round.as("moments", round.row_partial_sums(x, segments))},
          {"moments.1", round.as("moments", round.row_partial_sums(x * x, segments))}};
}

}  // namespace coda::catalogue
