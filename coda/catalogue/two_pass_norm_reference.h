// The mean of every row and, from the deviations from it, the factor r = (variance + ε)^(-1/2): a
// LayerNorm by its definition, in two passes. Unfused: in fp32.
#pragma once
#include <string>

#include "coda/reference/formula.h"

namespace coda::catalogue {

// The mean of every row [M, 1]; fp32: a port of that type.
inline reference::Array row_means(const reference::Array& x, const reference::Rounding& round,
                                  const std::string& fp32) {
  const reference::Array parts = round.row_partial_sums(round.as(fp32, x));
  const auto width = static_cast<double>(x.columns);
  return transpose(round.as(fp32, round.as(fp32, column_sums(parts)) / width));
}

struct TwoPassNorm {
  reference::Array rstd, unit;  // r [M, 1] and (x − μ)·r [M, h]
};

inline TwoPassNorm two_pass_norm(const reference::Array& x, const reference::Array& epsilon,
                                 const reference::Rounding& round, const std::string& fp32) {
  using reference::Array;
  const Array away = round.as(fp32, x - row_means(x, round, fp32));
  const Array variance = row_means(away * away, round, fp32);
  const Array rstd = round.as(fp32, reciprocal_sqrt(variance + epsilon));
  return {rstd, round.as(fp32, away * rstd)};
}

}  // namespace coda::catalogue
