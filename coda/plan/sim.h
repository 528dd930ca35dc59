// Programs in the simulator of the GPU: validated, a kernel chosen and tensor maps made as for the
// GPU, the launch put at the end of a stream that sim::run_stream runs. Host only.
#pragma once
#include <vector>

#include "coda/plan/choose.h"
#include "coda/sim/launch.h"

namespace coda::sim {

// Where a launch goes. Its tensors have to be there until the stream has run.
struct Target {
  std::vector<Launch>& stream;
  int multiprocessors = 4;                    // of the GPU that the grid is made for
  const plan::KernelEntry* kernel = nullptr;  // instead of the chosen one; it has to fit
  int slices = 1;  // of the contraction, in a workspace that the launch brings along
};

// The kernels of a program; defined where it is instantiated for the simulator (sim_launch.h).
template <class P>
std::span<const plan::KernelEntry> kernels_of();

// Errors are those of the GPU, without those about memory.
void enqueue_chosen(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                    const plan::LaunchRequest& request, const Target& target);

template <class P>
void enqueue(const P& program, const OperandView& a, const OperandView& b, const Target& target) {
  const ProgramView view = coda::describe(program);
  const Problem problem = validate(view, a, b);
  if (problem.M() == 0 || problem.N() == 0) return;
  enqueue_chosen(kernels_of<P>(), view, {&program, &problem, &a, &b}, target);
}

}  // namespace coda::sim
