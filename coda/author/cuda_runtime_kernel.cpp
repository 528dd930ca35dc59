// Cubins of coda::compile, loaded and launched through CUDA's runtime.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "coda/author/runtime_kernel.h"
#include "coda/plan/cuda.h"
#include "coda/plan/per_device.h"
#include "coda/plan/tensor_map.h"

namespace coda::author {
namespace {

// Of a thread, beyond which a tile is refused: a kernel that keeps many registers in memory is
// slower than one on a smaller tile.
constexpr int kMostSpilled = 64;

CompiledKernel compile_whole(const KernelSource& source) {
  CompiledKernel kernel = compile(source);
  if (kernel.spilled_bytes > kMostSpilled) {
    throw RegistersError(fmt::format(
        "{}: on tile {} it needs more registers than there are: {} bytes are spilled to memory; "
        "keep fewer values alive at a time, make several of many with map_lanes "
        "(coda/program/lanes.h), or leave this tile out in NAME_kernels.h",
        source.type, source.tile, kernel.spilled_bytes));
  }
  return kernel;
}

}  // namespace

struct RuntimeKernel::State {
  KernelSource source;
  int cluster, shared_bytes;
  cuda::PerDevice<cudaKernel_t> loaded;
  cuda::PerDevice<int> active;

  // A library is loaded for every device's context at once, but attributes are per device.
  cudaKernel_t get(int device) {
    return loaded.get(device, [&] {
      static std::mutex mutex;  // of all kernels: NVRTC takes all cores it needs
      const std::lock_guard lock(mutex);
      const CompiledKernel compiled = compile_whole(source);
      cudaLibrary_t library = nullptr;
      cuda::check(cudaLibraryLoadData(&library, compiled.cubin.data(), nullptr, nullptr, 0, nullptr,
                                      nullptr, 0),
                  "cudaLibraryLoadData");
      cudaKernel_t kernel = nullptr;
      cuda::check(cudaLibraryGetKernel(&kernel, library, CompiledKernel::kFunction),
                  "cudaLibraryGetKernel");
      cuda::check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
                  "cudaFuncSetAttribute");
      return kernel;
    });
  }
};

RuntimeKernel::RuntimeKernel(KernelSource source, int cluster, int shared_bytes)
    : state_(new State{std::move(source), cluster, shared_bytes, {}, {}}) {}
RuntimeKernel::~RuntimeKernel() = default;

int RuntimeKernel::active_clusters(const cuda::Target& target) const {
  return state_->active.get(target.device, [&] {
    const cudaKernel_t kernel = state_->get(target.device);
    const int multiprocessors = cuda::device_facts(target.device).multiprocessors;
    if (state_->cluster == 1) return multiprocessors;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(state_->cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim =
        dim3(static_cast<unsigned>(multiprocessors / state_->cluster * state_->cluster));
    config.blockDim = dim3(kernel::kThreads);
    config.dynamicSmemBytes = static_cast<size_t>(state_->shared_bytes);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    cuda::check(
        cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config),
        "cudaOccupancyMaxActiveClusters");
    if (clusters < 1) {
      throw Error("cudaOccupancyMaxActiveClusters: the device runs no cluster of this kernel");
    }
    return clusters;
  });
}

void RuntimeKernel::launch(void* arguments, uint32_t clusters, std::span<uint32_t> zeroed,
                           const cuda::Target& target) const {
  if (!zeroed.empty()) {
    cuda::check(cudaMemsetAsync(zeroed.data(), 0, zeroed.size_bytes(), target.stream),
                "cudaMemsetAsync");
  }
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = zeroed.empty() ? 1 : 0;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(state_->cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(clusters * static_cast<uint32_t>(state_->cluster));
  config.blockDim = dim3(kernel::kThreads);
  config.dynamicSmemBytes = static_cast<size_t>(state_->shared_bytes);
  config.stream = target.stream;
  config.attrs = attributes;
  config.numAttrs = state_->cluster > 1 ? 2 : 1;
  void* parameters[] = {arguments};
  cuda::check(cudaLaunchKernelExC(
                  &config, reinterpret_cast<const void*>(state_->get(target.device)), parameters),
              "cudaLaunchKernelExC");
}

void encode_gpu_map(void* map, const plan::MapRequest& request) {
  cuda::encode_tensor_map(*static_cast<CUtensorMap*>(map), request);
}

void run_on_gpu(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                plan::LaunchRequest request, const cuda::Target& target) {
  const Problem problem = validate(view, *request.a, *request.b);
  cuda::validate_device(view, problem, *request.a, *request.b, target.device);
  if (problem.M() == 0 || problem.N() == 0) return;
  request.problem = &problem;
  cuda::launch_chosen(kernels, view, request, target);
}

int64_t gpu_workspace_bytes(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                            plan::LaunchRequest request, const cuda::Target& target) {
  const Problem problem = validate(view, *request.a, *request.b);
  if (problem.M() == 0 || problem.N() == 0) return 0;
  request.problem = &problem;
  return cuda::workspace_bytes(kernels, view, request, target);
}

}  // namespace coda::author
