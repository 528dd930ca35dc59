// dz = [min(exp(ẑ - lse), 1)·(1 + 2λ·lse) - (1-α)·1_target - α/V]·(1 - (ẑ/c)²)·dloss·scale and the
// partial sums of z·dz; unfused: the logits are stored as those of linear_cross_entropy, the rest
// is fp32 and its result stored. Targets count columns within a segment, from first_column on.
#pragma once
#include "coda/catalogue/linear_cross_entropy_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_cross_entropy_backward_reference(const reference::Arrays& in,
                                                                 const reference::Rounding& round) {
  using reference::Array;
  const std::vector<int64_t> segments = segments_of(in, "segments.N");
  const auto number = [&](const char* name, double otherwise) {
    return given_or(in, name, otherwise)(0, 0);
  };
  const double cap = number("soft_cap", 0), first = number("first_column", 0);
  const Array z = logits_reference(in, round);
  const Array capped = capped_reference(z, cap, round);
  Array dz = z;
  int64_t begin = 0;
  for (const int64_t size : segments.empty() ? std::vector{z.columns} : segments) {
    for (int64_t m = 0; m < z.rows; ++m) {
      const double target = in.at("target")(0, m), lse = in.at("lse")(0, m);
      const double dloss = in.contains("dloss") ? in.at("dloss")(0, m) : 1.0;
      for (int64_t n = 0; n < size; ++n) {
        const double x = capped(m, begin + n);
        const double is_target = static_cast<double>(n) + first == target ? 1 : 0;
        const double slope = cap > 0 ? 1 - (x / cap) * (x / cap) : 1;
        const double inner = std::exp(x > lse ? 0 : x - lse) * (1 + 2 * number("z_loss", 0) * lse) -
                             number("elsewhere", 0) - is_target * number("on_target", 1);
        dz(m, begin + n) = inner * slope * dloss * number("scale", 1);
      }
    }
    begin += size;
  }
  const Array r = row_factor(in, reference::Rounding());
  const auto keep = [&](Array x) {  // zeros for the rows that are ignored, infinite or not
    for (int64_t m = 0; m < x.rows; ++m) {
      if (in.at("target")(0, m) != number("ignore_index", -100)) continue;
      for (int64_t n = 0; n < x.columns; ++n) x(m, n) = 0;
    }
    return x;
  };
  const Array unscaled = round.as("lse", dz);
  const Array products = keep(z * unscaled);
  return {{"out", round.as("out", keep(unscaled * r))},
          {"dots", round.as("dots", round.row_partial_sums(products, segments, 128))}};
}

}  // namespace coda::catalogue
