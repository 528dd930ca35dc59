// What LinearCrossEntropy is compiled to for the GPU. Tiles 128 or 256 columns wide: a partial
// covers 128.
#pragma once
#include "coda/catalogue/linear_cross_entropy.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearCrossEntropy<bf16>> {
  using P = catalogue::LinearCrossEntropy<bf16>;
  static constexpr uint32_t kRstd = 1 << 0, kLogits = 1 << 4;
  using Kernels =
      KernelList<Forward<P, bf16, 0, kRstd>, Forward<P, bf16, 4, kRstd>, Forward<P, bf16, 5, kRstd>,
                 Forward<P, bf16, 0, kRstd | kLogits>, Forward<P, bf16, 4, kRstd | kLogits>,  //
                 Forward<P, bf16, 0>, Forward<P, bf16, 4>, Forward<P, bf16, 5>,               //
                 Forward<P, bf16, 0, kLogits>, Forward<P, bf16, 4, kLogits>>;
};

template <>
struct Manifest<catalogue::LinearCrossEntropy<fp16>> {
  using P = catalogue::LinearCrossEntropy<fp16>;
  static constexpr uint32_t kRstd = 1 << 0, kLogits = 1 << 4;
  using Kernels = KernelList<Forward<P, fp16, 0, kRstd>, Forward<P, fp16, 0>,
                             Forward<P, fp16, 0, kRstd | kLogits>, Forward<P, fp16, 0, kLogits>>;
};

}  // namespace coda::plan
