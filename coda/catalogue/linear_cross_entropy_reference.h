// z = (rstd ⊙ A) Wᵀ, ẑ = c·tanh(z/c), and per 128 columns (max, Σexp(ẑ - max), Σẑ, ẑ at the
// target); unfused: the row is normalised and stored, then a linear, the soft-cap's operators, and
// the sums in fp32. Targets count columns within a segment.
#pragma once
#include <algorithm>
#include <cmath>

#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

// The logits before the soft-cap.
inline reference::Array logits_reference(const reference::Arrays& in,
                                         const reference::Rounding& round) {
  return round(round.matmul(normalised_rows(in, round), in.at("B")));
}

inline reference::Array capped_reference(const reference::Array& z, double cap,
                                         const reference::Rounding& round) {
  if (!(cap > 0)) return z;
  const reference::Array t = map(round(z / cap), [](double x) { return std::tanh(x); });
  return round(round(t) * cap);
}

// f(first column of a part, columns in it, part), for parts of `width` columns within segments.
template <class F>
void for_each_part(int64_t columns, std::vector<int64_t> segments, int64_t width, F&& f) {
  if (segments.empty()) segments = {columns};
  int64_t begin = 0, part = 0;
  for (const int64_t size : segments) {
    for (int64_t first = 0; first < size; first += width) {
      f(begin + first, std::min(width, size - first), part++);
    }
    begin += size;
  }
}

inline reference::Arrays linear_cross_entropy_reference(const reference::Arrays& in,
                                                        const reference::Rounding& round) {
  using reference::Array;
  constexpr int64_t kWidth = 128;
  const std::vector<int64_t> segments = segments_of(in, "segments.N");
  const Array z = logits_reference(in, round);
  const Array capped = capped_reference(z, given_or(in, "soft_cap", 0)(0, 0), round);
  const Array total = round.row_partial_sums(capped, segments, kWidth);  // [parts, M]
  Array largest(total.rows, total.columns), exponentials = capped, at_target = capped;
  for (int64_t m = 0; m < z.rows; ++m) {
    for_each_part(z.columns, segments, kWidth, [&](int64_t first, int64_t count, int64_t part) {
      double top = -INFINITY;
      for (int64_t n = first; n < first + count; ++n) {
        if (!(capped(m, n) <= top)) top = std::isnan(top) ? top : capped(m, n);
      }
      largest(part, m) = top;
      const double shift = std::isinf(top) ? 0 : top;
      for (int64_t n = first; n < first + count; ++n) exponentials(m, n) = capped(m, n) - shift;
    });
    int64_t begin = 0;
    for (const int64_t size : segments.empty() ? std::vector{z.columns} : segments) {
      for (int64_t n = 0; n < size; ++n) {
        if (static_cast<double>(n) != in.at("target")(0, m)) at_target(m, begin + n) = 0;
      }
      begin += size;
    }
  }
  const auto exp = [](double x) { return std::exp(x); };
  const Array sum = round.row_partial_sums(
      round.as("sums", map(round.as("sums", exponentials), exp)), segments, kWidth);
  const bool stores_capped = given_or(in, "capped", 1)(0, 0) != 0;
  return {{"logits", round.as("logits", stores_capped ? capped : z)},
          {"sums.0", largest},
          {"sums.1", round.as("sums", sum)},
          {"sums.2", round.as("sums", total)},
          {"sums.3", row_partial_sums(at_target, segments, kWidth)}};
}

}  // namespace coda::catalogue
