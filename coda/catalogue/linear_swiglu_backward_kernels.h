// What LinearSwigluBackward is compiled to for the GPU: pingpong tiles, whose epilogue, five
// tensors and a function per element, runs under another tile's mainloop.
#pragma once
#include "coda/catalogue/linear_swiglu_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearSwigluBackward<bf16>> {
  using P = catalogue::LinearSwigluBackward<bf16>;
  static constexpr uint32_t kRstd = 1 << 2, kActivation = 1 << 3, kOut = 1 << 6, kDots = 1 << 7;
  static constexpr uint32_t kNorm = kRstd | kDots;  // a norm is before the GEMM of gate and up
  using Kernels = KernelList<
      InputGrad<P, bf16, 10, kNorm | kOut>, InputGrad<P, bf16, 9, kNorm | kOut>,  //
      InputGrad<P, bf16, 9, kNorm>, InputGrad<P, bf16, 10, kOut>, InputGrad<P, bf16, 9, kOut>,
      InputGrad<P, bf16, 1>, InputGrad<P, bf16, 9, kNorm | kOut | kActivation>,
      InputGrad<P, bf16, 9, kNorm | kActivation>, InputGrad<P, bf16, 9, kOut | kActivation>>;
};

}  // namespace coda::plan
