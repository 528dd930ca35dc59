// What LinearSwiglu is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear_swiglu.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearSwiglu<bf16>> {
  using P = catalogue::LinearSwiglu<bf16>;
  static constexpr uint32_t kRstd = 1 << 0, kActivation = 1 << 1, kGateUp = 3 << 2;
  using Kernels =
      KernelList<Forward<P, bf16, 2, kRstd | kGateUp>, Forward<P, bf16, 3, kRstd | kGateUp>,
                 Forward<P, bf16, 1, kRstd | kGateUp>, Forward<P, bf16, 4, kRstd | kGateUp>,  //
                 Forward<P, bf16, 6, kRstd | kGateUp>,                                        //
                 Forward<P, bf16, 2, kRstd>, Forward<P, bf16, 1, kGateUp>,
                 Forward<P, bf16, 1, kRstd | kGateUp | kActivation>,
                 Forward<P, bf16, 1, kRstd | kActivation>,
                 Forward<P, bf16, 1, kGateUp | kActivation>>;
};

template <>
struct Manifest<catalogue::LinearSwiglu<fp16>> {
  using P = catalogue::LinearSwiglu<fp16>;
  static constexpr uint32_t kRstd = 1 << 0, kActivation = 1 << 1, kGateUp = 3 << 2;
  using Kernels =
      KernelList<Forward<P, fp16, 2, kRstd | kGateUp>, Forward<P, fp16, 1, kRstd | kGateUp>,
                 Forward<P, fp16, 2, kRstd>, Forward<P, fp16, 1, kRstd | kGateUp | kActivation>,
                 Forward<P, fp16, 1, kRstd | kActivation>>;
};

}  // namespace coda::plan
