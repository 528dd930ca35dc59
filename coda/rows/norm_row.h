// What an RMSNorm needs of a row x: Σx² per 64 columns and, where its weight is kept, x⊙γ. Host
// only.
#pragma once
#include <algorithm>

#include "coda/rows/lane_sum.h"
#include "coda/rows/tensor_check.h"
#include "coda/rows/widest.h"

namespace coda::row {

// γ and x⊙γ, or null pointers.
template <class T>
struct NormRow {
  const T* gamma;
  T* scaled;
  float* squares;  // parts stand squares_ld apart
  int64_t squares_ld;
};

template <class T>
NormRow<T> norm_row_of(int64_t m, const std::optional<TensorView>& gamma,
                       const std::optional<TensorView>& scaled, const TensorView& squares) {
  return {data_of<const T>(gamma), scaled ? data_of<T>(scaled) + m * scaled->ld : nullptr,
          data_of<float>(squares) + m, squares.ld};
}

// of(j): x_j as a float; read once per column.
template <class T, class Of>
CODA_WIDEST void norm_row(const NormRow<T>& row, int64_t columns, Of&& of) {
  for (int64_t begin = 0, part = 0; begin < columns; begin += kPartialWidth, ++part) {
    const int64_t count = std::min<int64_t>(kPartialWidth, columns - begin);
    float x[kPartialWidth] = {};
    for (int64_t j = 0; j < count; ++j) x[j] = of(begin + j);
    row.squares[part * row.squares_ld] =
        lane_sum(kPartialWidth, [&](int64_t j) { return x[j] * x[j]; });
    if (row.gamma == nullptr) continue;
    for (int64_t j = 0; j < count; ++j) {
      row.scaled[begin + j] = from_float<T>(x[j] * to_float(row.gamma[begin + j]));
    }
  }
}

}  // namespace coda::row
