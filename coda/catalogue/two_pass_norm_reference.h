// The mean of every row and, from the deviations from it, the factor r = (variance + ε)^(-1/2): a
// LayerNorm by its definition, in two passes. Unfused: in fp32.
#pragma once
#include <string>

#include "coda/reference/formula.h"

namespace coda::catalogue {

struct TwoPassNorm {
  reference::Array rstd, unit;  // r [M, 1] and (x − μ)·r [M, h]
};

// fp32: a port of that type.
inline TwoPassNorm two_pass_norm(const reference::Array& x, const reference::Array& epsilon,
                                 const reference::Rounding& round, const std::string& fp32) {
  using reference::Array;
  const auto width = static_cast<double>(x.columns);
  const Array mean = round.as(fp32, row_sums(x) / width);
  const Array away = round.as(fp32, x - mean);
  const Array rstd =
      round.as(fp32, reciprocal_sqrt(round.as(fp32, row_sums(away * away) / width) + epsilon));
  return {rstd, round.as(fp32, away * rstd)};
}

}  // namespace coda::catalogue
