// Kernels of authors' programs on the GPU, without CUDA's headers: compiled by coda::compile,
// loaded and launched. In libraries that were built with CUDA.
#pragma once
#include <memory>

#include "coda/author/compile.h"
#include "coda/catalogue/operation.h"
#include "coda/core/error.h"
#include "coda/plan/map_request.h"

namespace coda::author {

// There are too few for the program on this tile.
class RegistersError : public Error {
  using Error::Error;
};

// A kernel that is compiled when it is first used.
class RuntimeKernel {
 public:
  RuntimeKernel(KernelSource source, int cluster, int shared_bytes);
  ~RuntimeKernel();

  // Clusters that the target's device runs at once.
  int active_clusters(const cuda::Target& target) const;
  // `arguments`: a kernel::Arguments. `zeroed`: of counters that slices need first; may be none.
  void launch(void* arguments, uint32_t clusters, std::span<uint32_t> zeroed,
              const cuda::Target& target) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void encode_gpu_map(void* map, const plan::MapRequest& request);

// Validated, a kernel chosen, launched; `request` without the problem, which they fill in.
void run_on_gpu(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                plan::LaunchRequest request, const cuda::Target& target);
int64_t gpu_workspace_bytes(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                            plan::LaunchRequest request, const cuda::Target& target);

}  // namespace coda::author
