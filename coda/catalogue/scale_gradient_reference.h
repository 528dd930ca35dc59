// factor·gradient; unfused: one multiplication.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays scale_gradient_reference(const reference::Arrays& in,
                                                  const reference::Rounding& round) {
  return {{"out", round.as("out", in.at("gradient") * in.at("factor"))}};
}

}  // namespace coda::catalogue
