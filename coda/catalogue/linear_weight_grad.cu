#include "coda/catalogue/linear_weight_grad_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearWeightGrad<float>>() {
  return entries(plan::Manifest<catalogue::LinearWeightGrad<float>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearWeightGrad<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearWeightGrad<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearWeightGrad<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearWeightGrad<fp16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearWeightGradFolded<float, bf16>>() {
  return entries(plan::Manifest<catalogue::LinearWeightGradFolded<float, bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearWeightGradFolded<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearWeightGradFolded<bf16>>::Kernels{});
}

}  // namespace coda::cuda
