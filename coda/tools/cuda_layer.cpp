#include "coda/tools/cuda_layer.h"

#include <deque>

#include "coda/core/error.h"
#include "coda/tools/cuda_copy.h"
#include "coda/tools/cuda_workspace.h"

namespace coda::tools {

void run_layer_on_cuda(LayerCalls& layer) {
  const DeviceCopy copy(layer.memory());
  std::deque<GuardedWorkspace> workspaces;  // nothing waits in between
  for (const LayerCall& step : layer.calls()) {
    if (step.variant->run_cuda == nullptr) {
      throw Error(step.operation->name + ": no kernels for variant " + step.variant->name);
    }
    const catalogue::Call call = copy.call(step.call);
    cuda::Target target{};
    const GuardedWorkspace& workspace = workspaces.emplace_back(*step.variant, call, target);
    target.workspace = workspace.data();
    target.workspace_bytes = workspace.bytes();
    step.variant->run_cuda(call, target);
  }
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (const GuardedWorkspace& workspace : workspaces) workspace.check();
  copy.copy_back();
}

}  // namespace coda::tools
