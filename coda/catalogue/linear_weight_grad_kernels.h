// What LinearWeightGrad, plain and folded, is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear_weight_grad.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearWeightGrad<float>> {
  using P = catalogue::LinearWeightGrad<float>;
  static constexpr uint32_t kC = 1 << 1, kSquares = 1 << 3;
  using Kernels =
      KernelList<WeightGrad<P, bf16, 0>, WeightGrad<P, bf16, 4>, WeightGrad<P, bf16, 5>,
                 WeightGrad<P, bf16, 6>, WeightGrad<P, bf16, 6, kC>,  //
                 WeightGrad<P, bf16, 1, kC>, WeightGrad<P, bf16, 3, kC>, WeightGrad<P, bf16, 5, kC>,
                 WeightGrad<P, bf16, 1, kSquares>, WeightGrad<P, bf16, 3, kSquares>,
                 WeightGrad<P, bf16, 5, kC | kSquares>,  //
                 WeightGrad<P, fp16, 0>, WeightGrad<P, fp16, 4>, WeightGrad<P, fp16, 1, kC>>;
};

template <>
struct Manifest<catalogue::LinearWeightGrad<bf16>> {
  using P = catalogue::LinearWeightGrad<bf16>;
  static constexpr uint32_t kC = 1 << 1, kSquares = 1 << 3;
  using Kernels = KernelList<WeightGrad<P, bf16, 0>, WeightGrad<P, bf16, 5>, WeightGrad<P, bf16, 6>,
                             WeightGrad<P, bf16, 1, kC>, WeightGrad<P, bf16, 1, kSquares>>;
};

template <>
struct Manifest<catalogue::LinearWeightGrad<fp16>> {
  using P = catalogue::LinearWeightGrad<fp16>;
  using Kernels = KernelList<WeightGrad<P, fp16, 0>, WeightGrad<P, fp16, 4>>;
};

template <>
struct Manifest<catalogue::LinearWeightGradFolded<float, bf16>> {
  using P = catalogue::LinearWeightGradFolded<float, bf16>;
  static constexpr uint32_t kC = 1 << 1, kSquares = 1 << 5;
  using Kernels =
      KernelList<WholeWeightGrad<P, bf16, 1>, WholeWeightGrad<P, bf16, 3>,
                 WholeWeightGrad<P, bf16, 1, kC>, WholeWeightGrad<P, bf16, 3, kC>,
                 WholeWeightGrad<P, bf16, 1, kSquares>, WholeWeightGrad<P, bf16, 1, kC | kSquares>,
                 WholeWeightGrad<P, bf16, 3, kC | kSquares>>;
};

template <>
struct Manifest<catalogue::LinearWeightGradFolded<bf16>> {
  using P = catalogue::LinearWeightGradFolded<bf16>;
  static constexpr uint32_t kC = 1 << 1, kSquares = 1 << 5;
  using Kernels =
      KernelList<WholeWeightGrad<P, bf16, 1>, WholeWeightGrad<P, bf16, 3>,
                 WholeWeightGrad<P, bf16, 1, kC>, WholeWeightGrad<P, bf16, 1, kSquares>>;
};

}  // namespace coda::plan
