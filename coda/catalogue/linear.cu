#include "coda/catalogue/linear_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::Linear<bf16>>() {
  return entries(plan::Manifest<catalogue::Linear<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::Linear<fp16>>() {
  return entries(plan::Manifest<catalogue::Linear<fp16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::Linear<float>>() {
  return entries(plan::Manifest<catalogue::Linear<float>>::Kernels{});
}

}  // namespace coda::cuda
