// Sums of floats in lanes that vectors hold, in an order that depends on the count alone. Host
// only.
#pragma once
#include <cstdint>

namespace coda::row {

// Σ term(i).
template <class Term>
[[gnu::always_inline]] inline float lane_sum(int64_t count, Term&& term) {
  constexpr int64_t kLanes = 16;
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  for (int64_t lane = 0; i + lane < count; ++lane) sums[lane] += term(i + lane);
  for (int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (int64_t lane = 0; lane < step; ++lane) sums[lane] += sums[lane + step];
  }
  return sums[0];
}

}  // namespace coda::row
