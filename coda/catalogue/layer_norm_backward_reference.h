// dx = dx_in + r·(g − mean(g) − x̂·mean(g·x̂)), g = dy⊙γ, x̂ = (x − μ)·r; dγ = Σ dy·x̂, dβ = Σ dy
// and Σ dx per 64 rows. Unfused: the norm's backward in fp32, stored, then the addition.
#pragma once
#include "coda/catalogue/two_pass_norm_reference.h"

namespace coda::catalogue {

inline reference::Arrays layer_norm_backward_reference(const reference::Arrays& in,
                                                       const reference::Rounding& round) {
  using reference::Array;
  const Array &x = in.at("x"), &dy = in.at("dy");
  const auto fp32 = [&](const Array& value) { return round.as("dgamma", value); };
  const TwoPassNorm norm = two_pass_norm(x, in.at("epsilon"), round, "dgamma");
  const Array g = fp32(dy * in.at("gamma"));
  const Array m1 = row_means(g, round, "dgamma"), m2 = row_means(g * norm.unit, round, "dgamma");
  const Array through = norm.rstd * fp32(fp32(g - m1) - fp32(norm.unit * m2));
  const Array dx = in.contains("dx_in") ? round.as("dx", in.at("dx_in") + round.as("dx", through))
                                        : round.as("dx", through);
  return {{"dx", dx},
          {"dgamma", fp32(round.column_partial_sums(fp32(dy * norm.unit)))},
          {"dbeta", fp32(round.column_partial_sums(dy))},
          {"dcolumns", fp32(round.column_partial_sums(dx))}};
}

}  // namespace coda::catalogue
