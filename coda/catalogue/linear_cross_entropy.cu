#include "coda/catalogue/linear_cross_entropy_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearCrossEntropy<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearCrossEntropy<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearCrossEntropy<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearCrossEntropy<fp16>>::Kernels{});
}

}  // namespace coda::cuda
