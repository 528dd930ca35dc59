// An author's program on the GPU: the host's side of its launches, for a compiler that knows no
// CUDA. Kernels are compiled by NVRTC when they are first launched. Included by sources that
// compile_host.cpp writes, with CODA_LAUNCH.
#pragma once
#include "coda/author/kernels.h"
#include "coda/author/runtime_kernel.h"
#include "coda/plan/arguments.h"
#include "coda/plan/slices.h"

namespace coda::author {

// How C++ names a program; specialised for each by the source that includes this.
template <class P>
struct SourceName;  // static constexpr const char *type, *file

namespace detail {

template <class P, class T, int kTile, kernel::OperandMajor kA, kernel::OperandMajor kB,
          uint32_t kGiven, bool kSlices, uint32_t kEither>
KernelSource source_of(kernel::KernelTraits<P, T, kTile, kA, kB, kGiven, kSlices, kEither>) {
  return {.program = SourceName<P>::file,
          .type = SourceName<P>::type,
          .operand = dtype_of<T> == DType::kBf16 ? "coda::bf16" : "coda::fp16",
          .tile = kTile,
          .a = kA,
          .b = kB,
          .given = kGiven,
          .either = kEither,
          .slices = kSlices};
}

template <class K>
void launch_gpu(const plan::LaunchRequest& request, const void* target_pointer) {
  static const RuntimeKernel kernel(source_of(K{}), K::kCluster, K::kSharedBytes);
  const cuda::Target& target = *static_cast<const cuda::Target*>(target_pointer);
  const auto& program = *static_cast<const typename K::Program*>(request.program);
  const kernel::Grid grid = plan::make_grid(*request.problem, K::kTile, K::kAccumulators,
                                            kernel.active_clusters(target), request.slicing);
  auto arguments = plan::make_arguments<K>(
      program, *request.problem, *request.a, *request.b, grid,
      [](auto& map, const plan::MapRequest& asked) { encode_gpu_map(&map, asked); });
  std::span<uint32_t> counters;
  if (K::kSplits && request.slicing.slices > 1) {
    const plan::WorkspaceLayout layout = plan::workspace_layout(plan::slice_space_of<K>(), grid);
    arguments.workspace = layout.at(request.workspace);
    counters = {arguments.workspace.counters, static_cast<size_t>(layout.counter_bytes / 4)};
  }
  kernel.launch(&arguments, grid.clusters, counters, target);
}

template <class... K>
std::span<const plan::KernelEntry> gpu_entries(plan::KernelList<K...>) {
  static const plan::KernelEntry list[] = {plan::make_entry<K>(&launch_gpu<K>)...};
  return list;
}

template <class P, class... T>
std::span<const plan::KernelEntry> gpu_kernels() {
  require_kernels<P>();
  if constexpr (has_kernels<P>()) {
    return gpu_entries(all_kernels<P, T...>());
  } else {
    return {};
  }
}

}  // namespace detail

// T: the types of operands that the program is compiled for.
template <class P, class... T>
catalogue::GpuProgram on_gpu() {
  using catalogue::Call;
  return {[](const Call& call, const cuda::Target& target) {
            const P program = coda::bind<P>(call.arguments);
            run_on_gpu(detail::gpu_kernels<P, T...>(), describe(program),
                       {&program, nullptr, &call.a, &call.b}, target);
          },
          &detail::gpu_kernels<P, T...>,
          [](const Call& call, const cuda::Target& target) {
            const P program = coda::bind<P>(call.arguments);
            return gpu_workspace_bytes(detail::gpu_kernels<P, T...>(), describe(program),
                                       {&program, nullptr, &call.a, &call.b}, target);
          }};
}

}  // namespace coda::author
