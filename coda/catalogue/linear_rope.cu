#include "coda/catalogue/linear_rope_kernels.h"
#include "coda/plan/launch.cuh"

namespace coda::cuda {

template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearRope<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearRope<bf16>>::Kernels{});
}
template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearRope<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearRope<fp16>>::Kernels{});
}
template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearRopeNorm<bf16>>() {
  return entries(plan::Manifest<catalogue::LinearRopeNorm<bf16>>::Kernels{});
}
template <>
std::span<const plan::KernelEntry> kernels_of<catalogue::LinearRopeNorm<fp16>>() {
  return entries(plan::Manifest<catalogue::LinearRopeNorm<fp16>>::Kernels{});
}

}  // namespace coda::cuda
