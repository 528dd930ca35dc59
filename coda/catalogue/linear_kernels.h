// What Linear is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::Linear<bf16>> {
  using P = catalogue::Linear<bf16>;
  static constexpr uint32_t kC = 1 << 2, kBias = 1 << 3, kRstd = 1 << 5;
  using Kernels =
      KernelList<Forward<P, bf16, 0>, Forward<P, bf16, 2>, Forward<P, bf16, 4>,        //
                 Forward<P, bf16, 6>, InputGrad<P, bf16, 6>,                           //
                 Forward<P, bf16, 0, kRstd>, Forward<P, bf16, 2, kRstd>,               //
                 InputGrad<P, bf16, 0>, InputGrad<P, bf16, 2>, InputGrad<P, bf16, 4>,  //
                 WeightGrad<P, bf16, 0>, TransposedA<P, bf16, 0>,                      //
                 Forward<P, bf16, 1, kC>, Forward<P, bf16, 3, kC>, Forward<P, bf16, 1, kBias>>;
};

template <>
struct Manifest<catalogue::Linear<fp16>> {
  using P = catalogue::Linear<fp16>;
  using Kernels = KernelList<Forward<P, fp16, 0>, Forward<P, fp16, 2>>;
};

template <>
struct Manifest<catalogue::Linear<float>> {
  using P = catalogue::Linear<float>;
  static constexpr uint32_t kC = 1 << 2;
  using Kernels = KernelList<Forward<P, bf16, 1>, InputGrad<P, bf16, 1>, InputGrad<P, bf16, 1, kC>>;
};

}  // namespace coda::plan
