// What LinearResidualNorm, kept and folded, is compiled to for the GPU.
#pragma once
#include "coda/catalogue/linear_residual_norm.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearResidualNorm<bf16>> {
  using P = catalogue::LinearResidualNorm<bf16>;
  static constexpr uint32_t kBias = 1 << 1;
  using Kernels = KernelList<Forward<P, bf16, 1>, Forward<P, bf16, 3>, Forward<P, bf16, 6>,
                             Forward<P, bf16, 1, kBias>>;
};

template <>
struct Manifest<catalogue::LinearResidualNorm<fp16>> {
  using P = catalogue::LinearResidualNorm<fp16>;
  using Kernels = KernelList<Forward<P, fp16, 1>, Forward<P, fp16, 3>>;
};

template <>
struct Manifest<catalogue::LinearResidualNorm<bf16, float>> {
  using P = catalogue::LinearResidualNorm<bf16, float>;
  using Kernels = KernelList<Forward<P, bf16, 1>, Forward<P, bf16, 3>>;
};

template <>
struct Manifest<catalogue::LinearResidualNormFolded<bf16>> {
  using P = catalogue::LinearResidualNormFolded<bf16>;
  static constexpr uint32_t kBias = 1 << 1;
  using Kernels = KernelList<Forward<P, bf16, 0>, Forward<P, bf16, 3>, Forward<P, bf16, 6>,
                             Forward<P, bf16, 1, kBias>>;
};

template <>
struct Manifest<catalogue::LinearResidualNormFolded<fp16>> {
  using P = catalogue::LinearResidualNormFolded<fp16>;
  using Kernels = KernelList<Forward<P, fp16, 0>, Forward<P, fp16, 3>>;
};

template <>
struct Manifest<catalogue::LinearResidualNormFolded<bf16, float>> {
  using P = catalogue::LinearResidualNormFolded<bf16, float>;
  using Kernels = KernelList<Forward<P, bf16, 1>, Forward<P, bf16, 3>>;
};

}  // namespace coda::plan
