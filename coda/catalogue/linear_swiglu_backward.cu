#include "coda/catalogue/linear_swiglu_backward_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearSwigluBackward<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearSwigluBackward<bf16>>::Kernels{});
}

}  // namespace coda::cuda
