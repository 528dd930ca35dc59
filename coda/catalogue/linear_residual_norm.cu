#include "coda/catalogue/linear_residual_norm_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNorm<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNorm<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNorm<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNorm<fp16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNorm<bf16, float>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNorm<bf16, float>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNormFolded<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNormFolded<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNormFolded<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNormFolded<fp16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualNormFolded<bf16, float>>() {
  return entries(plan::Manifest<catalogue::LinearResidualNormFolded<bf16, float>>::Kernels{});
}

}  // namespace coda::cuda
