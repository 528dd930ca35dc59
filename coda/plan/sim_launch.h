// Instantiates kernels for the simulator: what the build makes of a manifest includes it, with
// CODA_SIM.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>

#include "coda/kernel/gemm.h"
#include "coda/plan/arguments.h"
#include "coda/plan/manifest.h"
#include "coda/plan/sim.h"
#include "coda/plan/slices.h"
#include "coda/sim/tensor_map.h"

namespace coda::sim {

inline void encode_request(TensorMap& map, const plan::MapRequest& request) {
  if (request.empty()) return;
  encode_tensor_map(
      map, request.type, request.data, static_cast<uint64_t>(request.columns),
      static_cast<uint64_t>(request.lines), static_cast<uint64_t>(request.map_pitch()),
      static_cast<uint32_t>(request.box_columns), static_cast<uint32_t>(request.box_lines),
      static_cast<uint32_t>(request.swizzle_bytes()));
}

// What a launch reads for as long as it is in a stream, which runs once.
template <class Program>
struct HeldArguments {
  kernel::Arguments<Program> arguments;
  std::vector<float> workspace;  // not a number but for the counters, which are zero
  uint32_t pace[2] = {};
};

template <class K>
void launch_kernel(const plan::LaunchRequest& request, const void* target_pointer) {
  using Program = typename K::Program;
  const Target& target = *static_cast<const Target*>(target_pointer);
  const auto& program = *static_cast<const Program*>(request.program);
  const kernel::Grid grid =
      plan::make_grid(*request.problem, K::kTile, K::kAccumulators,
                      plan::clusters_at_once(K::kTile, target.multiprocessors), request.slicing);
  const plan::WorkspaceLayout layout = plan::workspace_layout(plan::slice_space_of<K>(), grid);
  auto held = std::make_shared<HeldArguments<Program>>();
  held->arguments = plan::make_arguments<K>(program, *request.problem, *request.a, *request.b, grid,
                                            encode_request);
  held->workspace.assign(static_cast<size_t>(layout.bytes() / 4),
                         std::numeric_limits<float>::quiet_NaN());
  held->arguments.workspace = layout.at(held->workspace.data());
  std::fill_n(held->arguments.workspace.counters, layout.counter_bytes / 4, 0u);
  held->arguments.pace = {&held->pace[0], &held->pace[1]};  // for short contractions too
  target.stream.push_back({.blocks = static_cast<int>(grid.clusters) * K::kCluster,
                           .cluster_size = K::kCluster,
                           .threads = kernel::kThreads,
                           .shared_bytes = K::kSharedBytes,
                           .kernel = [held] { kernel::gemm_block<K>(held->arguments); },
                           .programmatic = true});
}

template <class... K>
std::span<const plan::KernelEntry> entries(plan::KernelList<K...>) {
  static const plan::KernelEntry list[] = {plan::make_entry<K>(&launch_kernel<K>)...};
  return list;
}

}  // namespace coda::sim
