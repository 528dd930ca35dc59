#include "coda/catalogue/linear_cross_entropy_backward_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearCrossEntropyBackward<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearCrossEntropyBackward<bf16>>::Kernels{});
}

}  // namespace coda::cuda
