// W' = W diag(γ); unfused: one multiplication.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays fold_norm_weight_reference(const reference::Arrays& in,
                                                    const reference::Rounding& round) {
  return {{"out", round.as("out", in.at("weight") * in.at("gamma"))}};
}

}  // namespace coda::catalogue
