// dots = Σ dz·(z − offset − bias) and shifts = Σ dz·shift per 64 columns, dbias = Σ dz per 64 rows;
// unfused: in fp32.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays layer_norm_sums_reference(const reference::Arrays& in,
                                                   const reference::Rounding& round) {
  using reference::Array;
  const Array& dz = in.at("dz");
  const Array bare = in.at("z") - (in.at("offset") + given_or(in, "bias", 0));
  return {{"dots", round.row_partial_sums(round.as("dots", dz * bare))},
          {"shifts", round.row_partial_sums(round.as("shifts", dz * in.at("shift")))},
          {"dbias", round.column_partial_sums(dz)}};
}

}  // namespace coda::catalogue
