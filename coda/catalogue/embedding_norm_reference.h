// x = E[token], Σx² per 64 columns, and with a kept γ also x⊙γ; unfused: a lookup, the sums of the
// norm in fp32, a multiplication. A token out of range gives NaN and the error flag.
#pragma once
#include <limits>

#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays embedding_norm_reference(const reference::Arrays& in,
                                                  const reference::Rounding& round) {
  using reference::Array;
  const Array &table = in.at("table"), &tokens = in.at("tokens");
  Array x(tokens.columns, table.columns);
  bool wrong = false;
  for (int64_t m = 0; m < x.rows; ++m) {
    const auto token = static_cast<int64_t>(tokens(0, m));
    const bool known = token >= 0 && token < table.rows;
    wrong = wrong || !known;
    for (int64_t j = 0; j < x.columns; ++j) {
      x(m, j) = known ? table(token, j) : std::numeric_limits<double>::quiet_NaN();
    }
  }
  reference::Arrays result{{"out", x}, {"squares", round.row_partial_sums(x * x)}};
  if (in.contains("gamma")) result["scaled"] = round.as("scaled", x * in.at("gamma"));
  if (in.contains("error")) result["error"] = wrong ? Array(1) : in.at("error");
  return result;
}

}  // namespace coda::catalogue
