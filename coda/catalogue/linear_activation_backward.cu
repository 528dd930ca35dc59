#include "coda/catalogue/linear_activation_backward_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearActivationBackward<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearActivationBackward<bf16>>::Kernels{});
}

}  // namespace coda::cuda
