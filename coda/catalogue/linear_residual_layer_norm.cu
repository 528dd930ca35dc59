#include "coda/catalogue/linear_residual_layer_norm_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualLayerNorm<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualLayerNorm<bf16>>::Kernels{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearResidualLayerNorm<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearResidualLayerNorm<fp16>>::Kernels{});
}

}  // namespace coda::cuda
