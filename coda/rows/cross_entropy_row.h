// The arithmetic of one row of cross-entropy, the same on the CPU and on the GPU.
#pragma once
#include "coda/program/cross_entropy_sums.h"

namespace coda::row {

struct RowLoss {
  float lse, loss;
};

// state: of the whole row. label: the row's target.
CODA_HD RowLoss row_loss(const CrossEntropySums::State<float>& state, int64_t label,
                         int64_t vocabulary, int64_t ignore_index, float z_loss, float smoothing) {
  const float lse = CrossEntropySums::finish(state);
  if (label == ignore_index) return {lse, 0.0f};
  if (label < 0 || label >= vocabulary) {
    const float nan = stdlib::numeric_limits<float>::quiet_NaN();
    return {nan, nan};
  }
  float loss = lse - state.target;
  if (smoothing > 0.0f) {  // without it Σẑ may be infinite
    loss += smoothing * (state.target - state.total / static_cast<float>(vocabulary));
  }
  return {lse, loss + z_loss * lse * lse};
}

// The factor of a row's gradient: 1 over the number of rows that count. Where none does, all
// gradients are zero.
CODA_HD float mean_factor(int64_t count) {
  return 1.0f / static_cast<float>(count > 1 ? count : 1);
}

// The mean of no losses is NaN, as in every framework.
CODA_HD float mean_loss(double sum, int64_t count) {
  if (count == 0) return stdlib::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(sum) * mean_factor(count);
}

}  // namespace coda::row
