// Launches kernels of row operations: programmatic dependent launch, so that a kernel's blocks are
// there when those before it are done. A kernel begins with ptx::dependency_wait() and
// ptx::dependents_launch().
#pragma once
#include <string>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"
#include "coda/program/workspace.h"
#include "coda/ptx/thread.cuh"
#include "coda/rows/tensor_check.h"

namespace coda::row {

inline constexpr int kThreads = 256, kWarps = kThreads / 32;

// Tensors that have been checked lie on the current device.
inline void check_on_device(const ProgramView& program) {
  int device = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  cuda::device_facts(device);
  cuda::check_device_memory(program, device);
}

// Of an operation that needs so many bytes.
inline void check_workspace(const ProgramView& program, const GivenWorkspace& given,
                            int64_t bytes) {
  validate_workspace(program, OperandView{}, OperandView{}, given, bytes);
  int device = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  cuda::check_device_memory(program.name, "workspace", given.data, device);
}

inline unsigned blocks_for(const std::string& operation, int64_t blocks) {
  constexpr int64_t kMost = 0x7fffffff;
  if (blocks > kMost) throw Error(operation + ": the tensors are too large for one launch");
  return static_cast<unsigned>(blocks);
}

struct LaunchSite {
  unsigned blocks = 1;
  cudaStream_t stream = nullptr;
  unsigned threads = kThreads;
  size_t shared_bytes = 0;
  bool overlaps = true;  // false: what was enqueued before is no kernel, so wait for it
};

template <class Parameters>
void launch(void (*kernel)(Parameters), const LaunchSite& site, const Parameters& parameters) {
  if (site.blocks == 0) return;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = site.overlaps ? 1 : 0;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(site.blocks);
  config.blockDim = dim3(site.threads);
  config.dynamicSmemBytes = site.shared_bytes;
  config.stream = site.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cuda::check(cudaLaunchKernelEx(&config, kernel, parameters), "cudaLaunchKernelEx");
}

}  // namespace coda::row
