#include "coda/plan/sim_launch.h"
#include "tests/tools/segmented.h"

namespace coda::sim {

template <>
std::span<const plan::KernelEntry> kernels_of<tools::Segmented>() {
  using P = tools::Segmented;
  constexpr uint32_t kSums = 1 << 5;
  return entries(plan::KernelList<plan::Forward<P, bf16, 1, kSums>,
                                  plan::Forward<P, bf16, 5, kSums>, plan::InputGrad<P, bf16, 1>>{});
}

template <>
std::span<const plan::KernelEntry> kernels_of<tools::SwappedSwiglu>() {
  return entries(plan::KernelList<plan::Forward<tools::SwappedSwiglu, bf16, 1>>{});
}

}  // namespace coda::sim
