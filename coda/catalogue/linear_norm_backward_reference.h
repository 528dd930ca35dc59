// dx = dx_in + D⊙γ − x·(r²·w) with D = A Bᵀ, r = (Σx²/width + ε)^(-1/2), w = Σdots/width; with a
// kept γ also scaled = x⊙γ and dγ = Σ D⊙x per 64 rows. Unfused: a linear, the norm's backward in
// fp32, stored, then the addition.
#pragma once
#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_norm_backward_reference(const reference::Arrays& in,
                                                        const reference::Rounding& round) {
  using reference::Array;
  const Array& x = in.at("x");
  const Array d = round(round.matmul(in.at("A"), in.at("B")));
  const Array r = row_factor(in, round);
  const Array w = round.fp32(transpose(column_sums(in.at("dots")) / in.at("dots.width")));
  const Array scaled = round.fp32(d * given_or(in, "gamma", 1));
  const Array through = round(scaled - round.fp32(x * round.fp32(round.fp32(r * r) * w)));
  reference::Arrays result{{"dx", round.as("dx", given_or(in, "dx_in", 0) + through)}};
  if (in.contains("gamma")) {
    result["scaled"] = round.as("scaled", x * in.at("gamma"));
    const Array dgamma = round.column_partial_sums(d * x, segments_of(in, "segments.M"));
    result["dgamma"] = round.as("dgamma", dgamma);
  }
  return result;
}

}  // namespace coda::catalogue
