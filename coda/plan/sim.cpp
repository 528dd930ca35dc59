#include "coda/plan/sim.h"

namespace coda::sim {

void enqueue_chosen(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                    const plan::LaunchRequest& request, const Target& target) {
  const plan::KernelEntry& kernel = plan::pick(target.kernel, kernels, view, request,
                                               {.multiprocessors = target.multiprocessors});
  kernel.launch(request, &target);
}

}  // namespace coda::sim
