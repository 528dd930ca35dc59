// The sum over the parts, added to what was there; unfused: a sum in fp32, then an addition.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays finish_columns_reference(const reference::Arrays& in,
                                                  const reference::Rounding& round) {
  const reference::Array& partials = in.at("partials");
  reference::Array sum(1, partials.columns);
  if (partials.rows > 0) {  // one part that covers all
    sum = round.column_partial_sums(partials, {}, static_cast<int>(partials.rows));
  }
  if (in.contains("out")) sum = round.as("out", sum) + in.at("out");
  return {{"out", round.as("out", sum)}};
}

}  // namespace coda::catalogue
