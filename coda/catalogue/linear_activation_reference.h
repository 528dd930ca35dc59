// out = f(z), z = r·(A Bᵀ − μ·shift) + offset + bias with μ and r from partial moments; unfused:
// the row is normalised and stored, then a linear, to which mean, offset and bias are added in
// fp32, the activation.
#pragma once
#include "coda/catalogue/activation_reference.h"
#include "coda/catalogue/row_moments_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_activation_reference(const reference::Arrays& in,
                                                     const reference::Rounding& round) {
  using reference::Array;
  constexpr int kGeluTanh = 2;
  const Array mean = row_mean(in, round), rstd = row_deviation_factor(in, round);
  const Array n = in.contains("rstd.0") ? round(rstd * in.at("A")) : in.at("A");
  const Array moved = round.fp32(rstd * round.fp32(mean * given_or(in, "shift", 0)));
  const Array added = round.fp32(given_or(in, "offset", 0) + given_or(in, "bias", 0));
  const Array z = round.as("before", round.fp32(round.matmul(n, in.at("B")) - moved) + added);
  return {{"before", z}, {"out", round.as("out", activated(z, in, round, kGeluTanh).value)}};
}

}  // namespace coda::catalogue
