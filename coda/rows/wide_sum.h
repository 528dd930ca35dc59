// Sums of floats in fp64, in an order that depends on nothing but their number. Host only.
#pragma once
#include <cstdint>

namespace coda::row {

// Σ term(x), of doubles.
template <class Term>
double wide_sum(const float* x, int64_t count, Term&& term) {
  constexpr int64_t kLanes = 8;  // sums that vectors hold
  double sums[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t j = 0; j < whole; j += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) sums[i] += term(static_cast<double>(x[j + i]));
  }
  for (int64_t j = whole; j < count; ++j) sums[j - whole] += term(static_cast<double>(x[j]));
  for (int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (int64_t i = 0; i < step; ++i) sums[i] += sums[i + step];
  }
  return sums[0];
}

}  // namespace coda::row
