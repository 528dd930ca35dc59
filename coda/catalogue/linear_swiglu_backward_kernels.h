// What LinearSwigluBackward is compiled to for the GPU: pingpong tiles, whose epilogue, four tensors
// and a function per element, runs under another tile's mainloop.
#pragma once
#include "coda/catalogue/linear_swiglu_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearSwigluBackward<bf16>> {
  using P = catalogue::LinearSwigluBackward<bf16>;
  static constexpr uint32_t kRstd = 1 << 2, kOut = 1 << 6, kDots = 1 << 7;
  static constexpr uint32_t kNorm = kRstd | kDots;  // a norm is before the GEMM of gate and up
  using Kernels =
      KernelList<InputGrad<P, bf16, 3, kNorm | kOut>, InputGrad<P, bf16, 2, kNorm | kOut>,
                 InputGrad<P, bf16, 1, kNorm | kOut>,                         //
                 InputGrad<P, bf16, 3, kNorm>, InputGrad<P, bf16, 1, kNorm>,  //
                 InputGrad<P, bf16, 3, kOut>, InputGrad<P, bf16, 3>>;
};

}  // namespace coda::plan
