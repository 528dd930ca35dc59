#include "coda/tools/cuda_targets.h"

#include "coda/plan/slices.h"
#include "coda/tools/call_kernels.h"

namespace coda::tools {

std::vector<CudaWay> CudaTargets::ways_of(const CudaCase& c) {
  Problem problem;
  problem.rows.begin[1] = c.shape.M;
  problem.columns.begin[1] = c.shape.N;
  problem.contraction.begin[1] = c.shape.K;
  const auto kernels = c.variant->cuda_kernels();
  const ProgramView program = given_ports(*c.variant, c.call);
  const plan::LaunchRequest request{nullptr, &problem, &c.call.a, &c.call.b};
  const plan::Device& device = cuda::device_facts(0);
  const auto choose = [&](const plan::KernelEntry* kernel) {
    return plan::choose_sliced({.kernel = kernel}, kernels, program, request, device);
  };
  const plan::KernelEntry& whole = plan::pick(nullptr, kernels, program, request, device);
  const plan::SlicedChoice chosen = choose(nullptr);
  std::vector<CudaWay> ways;
  const auto add = [&](const cuda::Target& target, const plan::Slicing& slicing) {
    ways.push_back({target, plan::sliced_name(*target.kernel, slicing.slices), slicing.slices,
                    target.kernel == chosen.kernel && slicing == chosen.slicing,
                    target.kernel == &whole && slicing.slices == 1});
  };
  for (const plan::KernelEntry* kernel : fitting_kernels(kernels, *c.variant, c.call)) {
    cuda::Target target{.kernel = kernel, .slices = 1};
    add(target, {});
    const plan::Slicing slicing = choose(kernel).slicing;
    if (slicing.slices == 1) continue;
    target.slices = 0;
    target.workspace_bytes = plan::workspace_bytes(*kernel, problem, slicing);
    target.workspace = workspaces_.emplace_back(target.workspace_bytes).data();
    add(target, slicing);
  }
  return ways;
}

}  // namespace coda::tools
