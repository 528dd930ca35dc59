// What LinearCrossEntropyBackward is compiled to for the GPU: behind a norm or not, one gradient of
// the loss or one for each row.
#pragma once
#include "coda/catalogue/linear_cross_entropy_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearCrossEntropyBackward<bf16>> {
  using P = catalogue::LinearCrossEntropyBackward<bf16>;
  static constexpr uint32_t kNorm = 1 << 0 | 1 << 12, kEachRow = 1 << 3;
  using Kernels = KernelList<Forward<P, bf16, 0, kNorm>, Forward<P, bf16, 4, kNorm>,
                             Forward<P, bf16, 0>, Forward<P, bf16, 4>,  //
                             Forward<P, bf16, 0, kNorm | kEachRow>, Forward<P, bf16, 0, kEachRow>>;
};

}  // namespace coda::plan
