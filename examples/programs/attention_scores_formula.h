// scores = scale·A Bᵀ and its log Σ exp in parts; unfused: matmul, multiply, and sums in fp32.
#pragma once
#include <coda/reference/partials.h>

inline coda::reference::Arrays attention_scores_formula(const coda::reference::Arrays& in,
                                                        const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array z = round.as("scores", round(round.matmul(in.at("A"), in.at("B"))) * in.at("scale"));
  const auto sums =
      coda::reference::log_sum_exp_partials(z, round, "sums", segments_of(in, "segments.N"));
  return {{"scores", z}, {"sums.0", sums.max}, {"sums.1", sums.sum}};
}
