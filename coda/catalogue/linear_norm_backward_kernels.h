// What LinearNormBackward, kept and folded, is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear_norm_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearNormBackward<bf16>> {
  using P = catalogue::LinearNormBackward<bf16>;
  static constexpr uint32_t kDxIn = 1 << 1, kScaled = 1 << 6;
  using Kernels =
      KernelList<InputGrad<P, bf16, 3, kDxIn | kScaled>, InputGrad<P, bf16, 1, kDxIn | kScaled>,  //
                 InputGrad<P, bf16, 6, kDxIn | kScaled>, InputGrad<P, bf16, 6, kDxIn>,            //
                 InputGrad<P, bf16, 3, kDxIn>, InputGrad<P, bf16, 1, kDxIn>,                      //
                 InputGrad<P, bf16, 3, kScaled>, InputGrad<P, bf16, 3>>;
};

template <>
struct Manifest<catalogue::LinearNormBackwardFolded<bf16>> {
  using P = catalogue::LinearNormBackwardFolded<bf16>;
  static constexpr uint32_t kDxIn = 1 << 1;
  using Kernels = KernelList<InputGrad<P, bf16, 3, kDxIn>, InputGrad<P, bf16, 1, kDxIn>,
                             InputGrad<P, bf16, 6, kDxIn>, InputGrad<P, bf16, 3>>;
};

}  // namespace coda::plan
