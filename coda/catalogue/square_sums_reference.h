// Σx² of every row; unfused: a multiplication, then a sum in fp32.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays square_sums_reference(const reference::Arrays& in,
                                               const reference::Rounding& round) {
  const reference::Array& x = in.at("x");
  if (x.columns == 0) return {{"sums", reference::Array(1, x.rows)}};
  const reference::Array squares = round.as("sums", x * x);
  // one part that covers all
  return {{"sums", round.row_partial_sums(squares, {}, static_cast<int>(x.columns))}};
}

}  // namespace coda::catalogue
