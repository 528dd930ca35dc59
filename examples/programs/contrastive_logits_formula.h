// z = A Bᵀ·inverse_temperature, its log Σ exp in parts, its diagonal; unfused: matmul, multiply,
// and the sums in fp32. Rows and columns count from the begin of their segments.
#pragma once
#include <coda/reference/partials.h>

inline coda::reference::Arrays contrastive_logits_formula(const coda::reference::Arrays& in,
                                                          const coda::reference::Rounding& round) {
  using coda::reference::Array, coda::reference::place_in_segment;
  const Array z = round.as(
      "logits", round(round.matmul(in.at("A"), in.at("B"))) * in.at("inverse_temperature"));
  const auto rows = segments_of(in, "segments.M"), columns = segments_of(in, "segments.N");
  const auto sums = coda::reference::log_sum_exp_partials(z, round, "sums", columns);
  Array matching = z;
  for (int64_t i = 0; i < z.rows; ++i) {
    for (int64_t j = 0; j < z.columns; ++j) {
      if (place_in_segment(i, rows) != place_in_segment(j, columns)) matching(i, j) = 0;
    }
  }
  return {{"logits", z},
          {"sums.0", sums.max},
          {"sums.1", sums.sum},
          {"matching", coda::reference::row_partial_sums(matching, columns)}};
}
