#include "coda/catalogue/linear_activation_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearActivation<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearActivation<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearActivation<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearActivation<fp16>>::Kernels{});
}

}  // namespace coda::cuda
