// What LinearResidualLayerNorm is compiled to for the GPU: weights stored [K, N] (GPT-2's) and
// [N, K], with a bias or without.
#pragma once
#include "coda/catalogue/linear_residual_layer_norm.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearResidualLayerNorm<bf16>> {
  using P = catalogue::LinearResidualLayerNorm<bf16>;
  static constexpr uint32_t kBias = 1 << 1;
  using Kernels = KernelList<InputGradEither<P, bf16, 1, kBias>, ForwardEither<P, bf16, 1, kBias>>;
};

template <>
struct Manifest<catalogue::LinearResidualLayerNorm<fp16>> {
  using P = catalogue::LinearResidualLayerNorm<fp16>;
  static constexpr uint32_t kBias = 1 << 1;
  using Kernels = KernelList<InputGradEither<P, fp16, 1, kBias>, ForwardEither<P, fp16, 1, kBias>>;
};

}  // namespace coda::plan
