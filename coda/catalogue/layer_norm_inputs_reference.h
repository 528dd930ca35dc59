// Σx and Σx² per 64 columns, and x⊙γ; unfused: the sums of the norm in fp32, a multiplication.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays layer_norm_inputs_reference(const reference::Arrays& in,
                                                     const reference::Rounding& round) {
  const reference::Array& x = in.at("x");
  return {{"moments.0", round.row_partial_sums(x)},
          {"moments.1", round.row_partial_sums(x * x)},
          {"scaled", round.as("scaled", x * in.at("gamma"))}};
}

}  // namespace coda::catalogue
