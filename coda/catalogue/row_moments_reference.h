// LayerNorm's mean and row factor from partial moments [parts, M], in the formulas of operations
// that take them: μ = Σx/width, r = (Σx²/width − μ² + ε)^(-1/2), the variance at least 0.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

// As columns [M, 1]; 0 and 1 where they are left out.
inline reference::Array row_mean(const reference::Arrays& in, const reference::Rounding& round) {
  if (!in.contains("mean.0")) return {0.0};
  return transpose(round.fp32(column_sums(in.at("mean.0")) / in.at("mean.width")));
}

inline reference::Array row_deviation_factor(const reference::Arrays& in,
                                             const reference::Rounding& round) {
  if (!in.contains("rstd.0")) return {1.0};
  const reference::Array mean = column_sums(in.at("rstd.0")) / in.at("rstd.width");
  const reference::Array square = column_sums(in.at("rstd.1")) / in.at("rstd.width");
  const reference::Array variance =
      round.fp32(map(square - mean * mean, [](double v) { return v < 0 ? 0.0 : v; }));
  return transpose(round.fp32(reciprocal_sqrt(round.fp32(variance + in.at("rstd.epsilon")))));
}

}  // namespace coda::catalogue
