// out = (x − μ)·r⊙γ + β with μ and r = (variance + ε)^(-1/2) of every row, and Σx, Σx² per 64
// columns; unfused: the norm in fp32, stored once.
#pragma once
#include "coda/catalogue/two_pass_norm_reference.h"

namespace coda::catalogue {

inline reference::Arrays layer_norm_reference(const reference::Arrays& in,
                                              const reference::Rounding& round) {
  const reference::Array& x = in.at("x");
  const TwoPassNorm norm = two_pass_norm(x, in.at("epsilon"), round, "moments");
  return {{"out", round.as("out", norm.unit * in.at("gamma") + in.at("beta"))},
          {"moments.0", round.row_partial_sums(x)},
          {"moments.1", round.row_partial_sums(x * x)}};
}

}  // namespace coda::catalogue
