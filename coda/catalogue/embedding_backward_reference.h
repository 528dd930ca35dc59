// dE = (what was there) + Σ over the rows of a token; unfused: rows added one after the other in
// fp32, then rounded, and added to what was there.
#pragma once
#include <map>

#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays embedding_backward_reference(const reference::Arrays& in,
                                                      const reference::Rounding& round) {
  using reference::Array;
  const Array &dx = in.at("dx"), &tokens = in.at("tokens");
  const auto vocabulary = static_cast<int64_t>(in.at("vocabulary")(0, 0));
  std::map<int64_t, Array> lines;  // the rows of each token
  bool wrong = false;
  for (int64_t m = 0; m < dx.rows; ++m) {
    const auto token = static_cast<int64_t>(tokens(0, m));
    if (token < 0 || token >= vocabulary) {
      wrong = true;
      continue;
    }
    Array& rows = lines[token];
    const auto row = dx.values.begin() + m * dx.columns;
    rows.values.insert(rows.values.end(), row, row + dx.columns);
    ++rows.rows;
    rows.columns = dx.columns;
  }
  Array sums(vocabulary, dx.columns);
  for (const auto& [token, rows] : lines) {
    const Array sum = round.column_partial_sums(rows, {}, static_cast<int>(rows.rows));
    for (int64_t j = 0; j < dx.columns; ++j) sums(token, j) = sum(0, j);
  }
  if (in.contains("out")) sums = round.as("out", sums) + in.at("out");
  reference::Arrays result{{"out", round.as("out", sums)}};
  if (in.contains("error")) result["error"] = wrong ? Array(1) : in.at("error");
  return result;
}

}  // namespace coda::catalogue
