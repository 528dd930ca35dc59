// x = E[token] + P[position]; unfused: two lookups and an addition. What is out of range gives NaN
// and the error flag.
#pragma once
#include <limits>

#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays embedding_positions_reference(const reference::Arrays& in,
                                                       const reference::Rounding& round) {
  using reference::Array;
  const Array &table = in.at("table"), &tokens = in.at("tokens");
  const Array &places = in.at("positions_table"), &positions = in.at("positions");
  Array x(tokens.columns, table.columns);
  bool wrong = false;
  for (int64_t m = 0; m < x.rows; ++m) {
    const auto token = static_cast<int64_t>(tokens(0, m));
    const auto position = static_cast<int64_t>(positions(0, m));
    const bool known = token >= 0 && token < table.rows && position >= 0 && position < places.rows;
    wrong = wrong || !known;
    for (int64_t j = 0; j < x.columns; ++j) {
      x(m, j) =
          known ? table(token, j) + places(position, j) : std::numeric_limits<double>::quiet_NaN();
    }
  }
  reference::Arrays result{{"out", round.as("out", x)}};
  if (in.contains("error")) result["error"] = wrong ? Array(1) : in.at("error");
  return result;
}

}  // namespace coda::catalogue
