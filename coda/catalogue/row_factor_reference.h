// The row factor of an RMSNorm, rstd = (Σx²/width + ε)^(-1/2) from partial sums [parts, M], in the
// formulas of operations that take it.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

// As a column [M, 1]; 1 where it is left out.
inline reference::Array row_factor(const reference::Arrays& in, const reference::Rounding& round) {
  if (!in.contains("rstd")) return reference::Array(1.0);
  const reference::Array mean = round.fp32(column_sums(in.at("rstd")) / in.at("rstd.width"));
  return transpose(round.fp32(reciprocal_sqrt(round.fp32(mean + in.at("rstd.epsilon")))));
}

// rstd ⊙ A; unfused it is stored.
inline reference::Array normalised_rows(const reference::Arrays& in,
                                        const reference::Rounding& round) {
  if (!in.contains("rstd")) return in.at("A");
  return round(row_factor(in, round) * in.at("A"));
}

}  // namespace coda::catalogue
