// What LinearActivationBackward is compiled to for the GPU: the projection's weight stored [F, h]
// (GPT-2's), B contraction-major, and [h, F].
#pragma once
#include "coda/catalogue/linear_activation_backward.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

template <>
struct Manifest<catalogue::LinearActivationBackward<bf16>> {
  using P = catalogue::LinearActivationBackward<bf16>;
  static constexpr uint32_t kBias = 1 << 3, kActivation = 1 << 4, kOut = 1 << 6;
  static constexpr uint32_t kNorm = 0b110 | 0b11 << 7 | 1 << 9;  // a LayerNorm and a bias before
  using Kernels = KernelList<ForwardEither<P, bf16, 1, kBias, kNorm | kOut>,
                             ForwardEither<P, bf16, 1, kBias, kNorm>,
                             ForwardEither<P, bf16, 1, kBias, kNorm | kOut | kActivation>,
                             ForwardEither<P, bf16, 1, kBias, kNorm | kActivation>,
                             InputGradEither<P, bf16, 1, kBias, kNorm | kOut>,
                             InputGradEither<P, bf16, 1, kBias, kNorm | kOut | kActivation>>;
};

}  // namespace coda::plan
