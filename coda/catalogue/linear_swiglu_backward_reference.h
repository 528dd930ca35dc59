// da = A Bᵀ, dg = da·up·f'(gate), du = da·f(gate); dgate, dup: these times rstd; out = f(gate)·up;
// dots = Σ gate·dg + up·du per 64 columns. Unfused: a linear, the products and the activation's
// backward, each stored, then the row factor; the derivative and the sums in fp32.
#pragma once
#include "coda/catalogue/activation_reference.h"
#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_swiglu_backward_reference(const reference::Arrays& in,
                                                          const reference::Rounding& round) {
  using reference::Array;
  const Array &gate = in.at("gate"), &up = in.at("up");
  const ActivatedArrays f = activated(gate, in, round);
  const Array da = round(round.matmul(in.at("A"), in.at("B"))), value = round(f.value);
  const Array dg = round(round(da * up) * f.slope), du = round(da * value);
  const Array rstd = row_factor(in, round);
  const Array dots = round.row_partial_sums(gate * dg + up * du, segments_of(in, "segments.N"));
  return {{"dgate", round.as("dgate", rstd * dg)},
          {"dup", round.as("dup", rstd * du)},
          {"out", round.as("out", value * up)},
          {"dots", round.as("dots", dots)}};
}

}  // namespace coda::catalogue
