// What LinearLayerNormBackward is compiled to for the GPU: the weight stored [K, N] (GPT-2's), here
// B contraction-major, and [N, K].
#pragma once
#include "coda/catalogue/linear_layer_norm_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearLayerNormBackward<bf16>> {
  using P = catalogue::LinearLayerNormBackward<bf16>;
  static constexpr uint32_t kDxIn = 1 << 1, kNormed = 1 << 9, kDcolumns = 1 << 12;
  static constexpr uint32_t kAll = kDxIn | kNormed | kDcolumns;
  using Kernels = KernelList<Forward<P, bf16, 1, kAll>, Forward<P, bf16, 3, kAll>,
                             Forward<P, bf16, 1, kDxIn>,  //
                             InputGrad<P, bf16, 1, kAll>, InputGrad<P, bf16, 1, kDxIn>>;
};

}  // namespace coda::plan
