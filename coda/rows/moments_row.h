// The partial moments of a row, Σx and Σx² per 64 columns. Host only.
#pragma once
#include <algorithm>

#include "coda/program/problem.h"
#include "coda/rows/lane_sum.h"
#include "coda/rows/tensor_check.h"

namespace coda::row {

using MomentsState = Moments::State<float>;

// Of row m with these elements, to moments [⌈columns/64⌉, M].
inline void write_moments(const TensorView& moments, int64_t m, const float* x, int64_t columns) {
  MomentsState* to = data_of<MomentsState>(moments) + m;
  for (int64_t begin = 0; begin < columns; begin += kPartialWidth, to += moments.ld) {
    const int64_t count = std::min<int64_t>(kPartialWidth, columns - begin);
    const float* const part = x + begin;
    to->sum = lane_sum(count, [&](int64_t j) { return part[j]; });
    to->squares = lane_sum(count, [&](int64_t j) { return part[j] * part[j]; });
  }
}

// Mean and row factor of a LayerNorm, in two passes.
struct RowFactors {
  float mean, rstd;
};
inline RowFactors row_factors(const float* x, int64_t columns, float epsilon) {
  const auto width = static_cast<float>(columns);
  const float mean = lane_sum(columns, [&](int64_t j) { return x[j]; }) / width;
  const float squares = lane_sum(columns, [&](int64_t j) { return (x[j] - mean) * (x[j] - mean); });
  return {mean, rsqrt(squares / width + epsilon)};
}

// A row of `columns` elements as floats.
template <class T>
void read_row(const TensorView& view, int64_t m, float* to) {
  const T* const from = data_of<const T>(view) + m * view.ld;
  for (int64_t j = 0; j < view.columns; ++j) to[j] = to_float(from[j]);
}

}  // namespace coda::row
