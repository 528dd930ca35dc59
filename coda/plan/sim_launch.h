// Instantiates kernels for the simulator: what the build makes of a manifest includes it, with
// CODA_SIM.
#pragma once
#include <algorithm>
#include <memory>

#include "coda/kernel/gemm.h"
#include "coda/plan/arguments.h"
#include "coda/plan/manifest.h"
#include "coda/plan/sim.h"
#include "coda/sim/tensor_map.h"

namespace coda::sim {

inline void encode_request(TensorMap& map, const plan::MapRequest& request) {
  if (request.empty()) return;
  const auto box_columns = static_cast<uint32_t>(request.box_columns);
  encode_tensor_map(map, request.type, request.data, static_cast<uint64_t>(request.columns),
                    static_cast<uint64_t>(request.lines),
                    static_cast<uint64_t>(request.map_pitch()), box_columns,
                    static_cast<uint32_t>(request.box_lines),
                    box_columns * static_cast<uint32_t>(dtype_bytes(request.type)));
}

template <class K>
void launch_kernel(const plan::LaunchRequest& request, const void* target_pointer) {
  using Program = typename K::Program;
  const Target& target = *static_cast<const Target*>(target_pointer);
  const auto& program = *static_cast<const Program*>(request.program);
  const kernel::Grid grid = plan::make_grid(*request.problem, K::kTile, K::kAccumulators,
                                            std::max(target.multiprocessors / K::kCluster, 1));
  auto arguments = std::make_shared<const kernel::Arguments<Program>>(plan::make_arguments<K>(
      program, *request.problem, *request.a, *request.b, grid, encode_request));
  target.stream.push_back({.blocks = static_cast<int>(grid.clusters) * K::kCluster,
                           .cluster_size = K::kCluster,
                           .threads = kernel::kThreads,
                           .shared_bytes = K::kSharedBytes,
                           .kernel = [arguments] { kernel::gemm_block<K>(*arguments); },
                           .programmatic = true});
}

template <class... K>
std::span<const plan::KernelEntry> entries(plan::KernelList<K...>) {
  static const plan::KernelEntry list[] = {plan::make_entry<K>(&launch_kernel<K>)...};
  return list;
}

}  // namespace coda::sim
