#include "coda/catalogue/linear_norm_backward_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearNormBackward<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearNormBackward<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearNormBackwardFolded<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearNormBackwardFolded<bf16>>::Kernels{});
}

}  // namespace coda::cuda
