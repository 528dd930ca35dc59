// Σx² per 64 columns, and with a kept γ also x⊙γ; unfused: the sums of the norm in fp32, a
// multiplication.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays norm_inputs_reference(const reference::Arrays& in,
                                               const reference::Rounding& round) {
  const reference::Array& x = in.at("x");
  reference::Arrays result{{"squares", round.row_partial_sums(x * x)}};
  if (in.contains("gamma")) result["scaled"] = round.as("scaled", x * in.at("gamma"));
  return result;
}

}  // namespace coda::catalogue
