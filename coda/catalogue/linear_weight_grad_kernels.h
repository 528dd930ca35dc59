// What LinearWeightGrad is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear_weight_grad.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearWeightGrad<float>> {
  using P = catalogue::LinearWeightGrad<float>;
  static constexpr uint32_t kC = 1 << 0;
  using Kernels = KernelList<WeightGrad<P, bf16, 0>, WeightGrad<P, bf16, 4>, WeightGrad<P, bf16, 5>,
                             WeightGrad<P, bf16, 1, kC>, WeightGrad<P, bf16, 5, kC>>;
};

template <>
struct Manifest<catalogue::LinearWeightGrad<bf16>> {
  using P = catalogue::LinearWeightGrad<bf16>;
  using Kernels =
      KernelList<WeightGrad<P, bf16, 0>, WeightGrad<P, bf16, 4>, WeightGrad<P, bf16, 6>>;
};

}  // namespace coda::plan
