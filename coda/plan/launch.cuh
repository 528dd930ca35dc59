// Instantiates and launches kernels for the GPU. Included by catalogue/x.cu.
#pragma once
#include <atomic>

#include "coda/kernel/gemm.h"
#include "coda/plan/arguments.h"
#include "coda/plan/cuda.h"
#include "coda/plan/manifest.h"
#include "coda/plan/per_device.h"
#include "coda/plan/slices.h"
#include "coda/plan/tensor_map.h"

namespace coda::cuda {

// Clusters of this kernel that the device runs at once (a cluster stays inside one GPC, so some
// multiprocessors may be left over). Also lets the kernel use its shared memory there.
template <class K>
int active_clusters(int device) {
  static PerDevice<int> active;
  return active.get(device, [&] {
    const auto function = kernel::gemm<K>;
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               K::kSharedBytes),
          "cudaFuncSetAttribute");
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
    if (K::kCluster == 1) return multiprocessors;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {K::kCluster, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(multiprocessors / K::kCluster * K::kCluster);
    config.blockDim = dim3(kernel::kThreads);
    config.dynamicSmemBytes = K::kSharedBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, function, &config),
          "cudaOccupancyMaxActiveClusters");
    if (clusters < 1) {
      throw Error("cudaOccupancyMaxActiveClusters: the device runs no cluster of this kernel");
    }
    return clusters;
  });
}

// Counters by which clusters keep together: a line of L2 for each of the launches that may run at
// the same time. Zero when the library is loaded, and left as kernel/pace.h says.
inline constexpr uint32_t kPaces = 64, kPaceWords = 32;
static __device__ uint32_t pace_words[kPaces * kPaceWords];

static kernel::Pace next_pace(int device) {
  static PerDevice<uint32_t*> words;
  static std::atomic<uint32_t> launches = 0;
  uint32_t* first = words.get(device, [] {
    void* address = nullptr;
    check(cudaGetSymbolAddress(&address, pace_words), "cudaGetSymbolAddress");
    return static_cast<uint32_t*>(address);
  });
  uint32_t* own = first + launches.fetch_add(1, std::memory_order_relaxed) % kPaces * kPaceWords;
  return {own, own + 1};
}

template <class K>
void launch(const plan::LaunchRequest& request, const void* target_pointer) {
  const Target& target = *static_cast<const Target*>(target_pointer);
  const auto& program = *static_cast<const typename K::Program*>(request.program);
  const kernel::Grid grid = plan::make_grid(*request.problem, K::kTile, K::kAccumulators,
                                            active_clusters<K>(target.device), request.slicing);
  auto arguments = plan::make_arguments<K>(program, *request.problem, *request.a, *request.b, grid,
                                           encode_tensor_map);
  if (grid.paced != 0) arguments.pace = next_pace(target.device);
  const bool sliced = K::kSplits && request.slicing.slices > 1;
  if (sliced) {
    const plan::WorkspaceLayout layout = plan::workspace_layout(plan::slice_space_of<K>(), grid);
    arguments.workspace = layout.at(request.workspace);
    check(cudaMemsetAsync(arguments.workspace.counters, 0,
                          static_cast<size_t>(layout.counter_bytes), target.stream),
          "cudaMemsetAsync");
  }
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = sliced ? 0 : 1;  // not a memset's
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {K::kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.clusters * K::kCluster);
  config.blockDim = dim3(kernel::kThreads);
  config.dynamicSmemBytes = K::kSharedBytes;
  config.stream = target.stream;
  config.attrs = attributes;
  config.numAttrs = K::kCluster > 1 ? 2 : 1;
  check(cudaLaunchKernelEx(&config, kernel::gemm<K>, arguments), "cudaLaunchKernelEx");
}

// With CODA_ONE_KERNEL, a build that only shows that programs compile, the first one.
template <class First, class... K>
std::span<const plan::KernelEntry> entries(plan::KernelList<First, K...>) {
#if defined(CODA_ONE_KERNEL)
  static const plan::KernelEntry list[] = {plan::make_entry<First>(&launch<First>)};
#else
  static const plan::KernelEntry list[] = {plan::make_entry<First>(&launch<First>),
                                           plan::make_entry<K>(&launch<K>)...};
#endif
  return list;
}

}  // namespace coda::cuda
