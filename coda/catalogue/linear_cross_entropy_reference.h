// z = (rstd ⊙ A) Wᵀ, ẑ = c·tanh(z/c), and per 128 columns (max, Σexp(ẑ - max), Σẑ, ẑ at the
// target); unfused: the row is normalised and stored, then a linear, the soft-cap's operators, and
// the sums in fp32. Targets count columns within a segment.
#pragma once
#include <cmath>

#include "coda/catalogue/row_factor_reference.h"
#include "coda/reference/partials.h"

namespace coda::catalogue {

// The logits before the soft-cap.
inline reference::Array logits_reference(const reference::Arrays& in,
                                         const reference::Rounding& round) {
  return round(round.matmul(normalised_rows(in, round), in.at("B")));
}

// ẑ = c·tanh(z/c), and the tanh, which frameworks store for the backward; z and 0 without a cap.
struct CappedLogits {
  reference::Array value, tanh;
};
inline CappedLogits capped_reference(const reference::Array& z, double cap,
                                     const reference::Rounding& round) {
  using reference::Array;
  if (!(cap > 0)) return {z, Array(z.rows, z.columns)};
  const Array t = round(map(round(z / cap), [](double x) { return std::tanh(x); }));
  return {round(t * cap), t};
}

inline reference::Arrays linear_cross_entropy_reference(const reference::Arrays& in,
                                                        const reference::Rounding& round) {
  using reference::Array;
  constexpr int kWidth = 128;
  const std::vector<int64_t> segments = segments_of(in, "segments.N");
  const Array z = logits_reference(in, round);
  const Array capped = capped_reference(z, given_or(in, "soft_cap", 0)(0, 0), round).value;
  const Array total = round.row_partial_sums(capped, segments, kWidth);  // [parts, M]
  Array at_target = capped;
  for (int64_t m = 0; m < z.rows; ++m) {
    int64_t begin = 0;
    for (const int64_t size : segments.empty() ? std::vector{z.columns} : segments) {
      for (int64_t n = 0; n < size; ++n) {
        if (static_cast<double>(n) != in.at("target")(0, m)) at_target(m, begin + n) = 0;
      }
      begin += size;
    }
  }
  const auto exponentials =
      reference::log_sum_exp_partials(capped, round, "sums", segments, kWidth);
  const bool stores_capped = given_or(in, "capped", 1)(0, 0) != 0;
  return {{"logits", round.as("logits", stores_capped ? capped : z)},
          {"sums.0", exponentials.max},
          {"sums.1", exponentials.sum},
          {"sums.2", round.as("sums", total)},
          {"sums.3", row_partial_sums(at_target, segments, kWidth)}};
}

}  // namespace coda::catalogue
