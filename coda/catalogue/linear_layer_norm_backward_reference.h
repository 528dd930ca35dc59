// dx = dx_in + r·(D⊙γ − m1 − x̂·m2) with D = A Bᵀ, x̂ = (x − μ)·r, m1 = Σshifts/width,
// m2 = Σdots/width; normed = x̂⊙γ + β; dγ = Σ D⊙x̂, dβ = Σ D and Σ dx per 64 rows. Unfused: a
// linear, the norm's backward in fp32, stored, then the addition.
#pragma once
#include "coda/catalogue/row_moments_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_layer_norm_backward_reference(const reference::Arrays& in,
                                                              const reference::Rounding& round) {
  using reference::Array;
  const Array& gamma = in.at("gamma");
  const Array d = round(round.matmul(in.at("A"), in.at("B")));
  const Array r = row_deviation_factor(in, round);
  const auto fp32 = [&](const Array& value) { return round.as("dgamma", value); };
  const Array unit = fp32(fp32(in.at("x") - row_mean(in, round)) * r);
  const auto mean_of = [&](const std::string& port) {
    return transpose(round.as(port, column_sums(in.at(port)) / in.at(port + ".width")));
  };
  const Array g = fp32(fp32(d * gamma) - mean_of("shifts"));
  const Array through = round(r * fp32(g - fp32(unit * mean_of("dots"))));
  const Array dx = round.as("dx", given_or(in, "dx_in", 0) + through);
  const auto sums = [&](const std::string& port, const Array& values) {
    return round.as(port, round.column_partial_sums(values, segments_of(in, "segments.M")));
  };
  return {{"dx", dx},
          {"normed", round.as("normed", fp32(unit * gamma) + in.at("beta"))},
          {"dgamma", sums("dgamma", fp32(d * unit))},
          {"dbeta", sums("dbeta", d)},
          {"dcolumns", sums("dcolumns", dx)}};
}

}  // namespace coda::catalogue
