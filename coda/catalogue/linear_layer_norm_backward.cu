#include "coda/catalogue/linear_layer_norm_backward_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearLayerNormBackward<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearLayerNormBackward<bf16>>::Kernels{});
}

}  // namespace coda::cuda
