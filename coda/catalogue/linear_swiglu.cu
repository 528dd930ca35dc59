#include "coda/catalogue/linear_swiglu_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearSwiglu<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearSwiglu<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearSwiglu<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearSwiglu<fp16>>::Kernels{});
}

}  // namespace coda::cuda
