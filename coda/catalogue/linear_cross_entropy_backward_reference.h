// dz = [min(exp(ẑ - lse), 1)·(1 + 2λ·lse) - (1-α)·1_target - α/V]·(1 - (ẑ/c)²)·dloss·scale and the
// partial sums of z·dz; unfused: the logits are stored as those of linear_cross_entropy, the rest
// is fp32 and its result stored. Targets count columns within a segment, from first_column on.
#pragma once
#include "coda/catalogue/linear_cross_entropy_reference.h"

namespace coda::catalogue {

// An element of dz but for dloss·scale. V: fp64, or fp32 as frameworks compute it.
template <class V>
struct LogitGradient {
  V z_loss, elsewhere, on_target;

  V at(V capped, V tanh, V lse, bool is_target) const {
    const V probability = std::exp(capped > lse ? 0 : capped - lse);
    const V wanted = elsewhere + (is_target ? on_target : 0);
    return (probability * (1 + 2 * z_loss * lse) - wanted) * (1 - tanh * tanh);
  }
};

inline reference::Arrays linear_cross_entropy_backward_reference(const reference::Arrays& in,
                                                                 const reference::Rounding& round) {
  using reference::Array;
  const std::vector<int64_t> segments = segments_of(in, "segments.N");
  const auto number = [&](const char* name, double otherwise) {
    return given_or(in, name, otherwise)(0, 0);
  };
  const double first = number("first_column", 0), scale = number("scale", 1);
  const LogitGradient<double> fp64{number("z_loss", 0), number("elsewhere", 0),
                                   number("on_target", 1)};
  const auto f = [](double value) { return static_cast<float>(value); };
  const LogitGradient<float> fp32{f(fp64.z_loss), f(fp64.elsewhere), f(fp64.on_target)};
  const Array z = logits_reference(in, round);
  const CappedLogits capped = capped_reference(z, number("soft_cap", 0), round);
  Array dz = z;
  int64_t begin = 0;
  for (const int64_t size : segments.empty() ? std::vector{z.columns} : segments) {
    for (int64_t m = 0; m < z.rows; ++m) {
      const double target = in.at("target")(0, m), lse = in.at("lse")(0, m);
      const double factor = (in.contains("dloss") ? in.at("dloss")(0, m) : 1) * scale;
      for (int64_t n = 0; n < size; ++n) {
        const double x = capped.value(m, begin + n), t = capped.tanh(m, begin + n);
        const bool is_target = static_cast<double>(n) + first == target;
        dz(m, begin + n) = factor * (round.rounds() ? fp32.at(f(x), f(t), f(lse), is_target)
                                                    : fp64.at(x, t, lse, is_target));
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
