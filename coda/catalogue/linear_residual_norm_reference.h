// x1 = A Wᵀ (+ bias) + residual, Σx1² per 64 columns, and with a kept γ also x1⊙γ; unfused: linear,
// add, multiply, and the sums of the norm in fp32.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_residual_norm_reference(const reference::Arrays& in,
                                                        const reference::Rounding& round) {
  using reference::Array;
  Array y = round.matmul(in.at("A"), in.at("B"));
  if (in.contains("bias")) y = y + in.at("bias");
  const Array x = round.as("out", round(y) + in.at("residual"));
  const Array squares = round.row_partial_sums(x * x, segments_of(in, "segments.N"));
  reference::Arrays result{{"out", x}, {"squares", round.as("squares", squares)}};
  if (in.contains("gamma")) result["scaled"] = round.as("scaled", x * in.at("gamma"));
  return result;
}

}  // namespace coda::catalogue
