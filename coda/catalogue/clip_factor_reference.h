// The norm of a gradient and the factor that clips it; unfused: a sum in fp32, its root, an
// addition, a division, a minimum. A norm that is not finite makes the factor NaN.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays clip_factor_reference(const reference::Arrays& in,
                                               const reference::Rounding& round) {
  using reference::Array;
  const Array& squares = in.at("squares");
  Array sum(1, 1);
  if (squares.columns > 0) {  // one part that covers all
    sum = round.row_partial_sums(squares, {}, static_cast<int>(squares.columns));
  }
  const Array norm = round.as("norm", map(sum, [](double v) { return std::sqrt(v); }));
  Array factor(1, 1, 1);
  if (in.contains("max_norm")) {
    factor = round.as("factor", in.at("max_norm") / round.as("norm", norm + 1e-6));
    factor = map(factor, [](double v) { return std::min(v, 1.0); });
  }
  if (!std::isfinite(norm(0, 0))) factor = std::numeric_limits<double>::quiet_NaN();
  return {{"norm", norm}, {"factor", factor}};
}

}  // namespace coda::catalogue
