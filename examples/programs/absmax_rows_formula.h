// out = clamp(z ⊙ inverse_scale, ±448), max|z| in parts; unfused: linear, multiply, clamp, and
// abs, max.
#pragma once
#include <coda/reference/partials.h>

inline coda::reference::Arrays absmax_rows_formula(const coda::reference::Arrays& in,
                                                   const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array z = round(round.matmul(in.at("A"), in.at("B")));
  const Array scaled = round(z * transpose(in.at("inverse_scale")));
  const auto clamp = [](double x) { return x < -448 ? -448.0 : x > 448 ? 448.0 : x; };
  const Array largest = coda::reference::row_partial_max(
      map(z, [](double x) { return std::abs(x); }), segments_of(in, "segments.N"));
  return {{"out", round.as("out", map(scaled, clamp))}, {"largest", round.as("largest", largest)}};
}
