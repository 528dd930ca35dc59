// What LinearActivation is compiled to for the GPU: weights stored [K, N] (GPT-2's) and [N, K].
// Kernels that keep z for the backward pass are for the usual activation or for the others; those
// that do not (attention's projections, inference) take any.
#pragma once
#include "coda/catalogue/linear_activation.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearActivation<bf16>> {
  using P = catalogue::LinearActivation<bf16>;
  static constexpr uint32_t kNorm = 0b1111, kBias = 1 << 4, kActivation = 1 << 5, kBefore = 1 << 6;
  static constexpr uint32_t kVectors = kNorm | kBias;
  using Kernels = KernelList<InputGradEither<P, bf16, 1, kVectors, kBefore>,
                             InputGradEither<P, bf16, 3, kBias, kNorm | kBefore>,
                             InputGradEither<P, bf16, 1, kVectors | kActivation>,
                             InputGradEither<P, bf16, 1, kVectors, kBefore | kActivation>,
                             ForwardEither<P, bf16, 1, kVectors, kBefore>,
                             ForwardEither<P, bf16, 1, kVectors | kActivation>,
                             ForwardEither<P, bf16, 1, kVectors, kBefore | kActivation>>;
};

template <>
struct Manifest<catalogue::LinearActivation<fp16>> {
  using P = catalogue::LinearActivation<fp16>;
  static constexpr uint32_t kVectors = 0b11111, kActivation = 1 << 5;
  using Kernels = KernelList<InputGradEither<P, fp16, 1, kVectors | kActivation>,
                             ForwardEither<P, fp16, 1, kVectors | kActivation>>;
};

}  // namespace coda::plan
