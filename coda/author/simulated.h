// An author's program in the simulator of the GPU. Included by sources that compile_host.cpp
// writes, with CODA_SIM.
#pragma once
#include "coda/author/kernels.h"
#include "coda/catalogue/simulated.h"
#include "coda/plan/sim_launch.h"

namespace coda::author {

// T: the types of operands that the program is compiled for.
template <class P, class... T>
std::span<const plan::KernelEntry> simulated_kernels() {
  require_kernels<P>();
  if constexpr (has_kernels<P>()) {
    return sim::entries(all_kernels<P, T...>());
  } else {
    return {};
  }
}

}  // namespace coda::author
