#include "coda/plan/sim.h"

#include "coda/plan/slices.h"

namespace coda::sim {

void enqueue_chosen(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                    const plan::LaunchRequest& request, const Target& target) {
  const plan::SlicedChoice choice =
      plan::choose_sliced({target.kernel, target.slices}, kernels, view, request,
                          {.multiprocessors = target.multiprocessors});
  plan::LaunchRequest launch = request;
  launch.slicing = choice.slicing;
  choice.kernel->launch(launch, &target);
}

}  // namespace coda::sim
