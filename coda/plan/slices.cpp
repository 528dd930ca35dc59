#include "coda/plan/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"
#include "coda/program/overlap.h"

namespace coda::plan {
namespace {

// Between a warpgroup and L2, in bytes per clock: sums that are left, and that are gathered (eight
// loads of 16 bytes in flight per thread, about 800 clocks each).
constexpr double kStoreBytesPerClock = 32, kLoadBytesPerClock = 20;
// A launch that waits for its counters to be zeroed, and a fence and an atomic of every unit.
constexpr double kLaunchClocks = 3000, kUnitClocks = 1500;
// A prediction is not better than this; slices that gain less are not worth their traffic.
constexpr double kWorthwhile = 0.95;
constexpr uint32_t kMostWaves = 2;  // of whole tiles; beyond, slices could only fill the last

kernel::Grid grid_of(const KernelEntry& kernel, const Problem& problem, const Device& device,
                     int slices) {
  return make_grid(problem, kernel.config, kernel.accumulators,
                   clusters_at_once(kernel.config, device.multiprocessors), slices);
}

uint32_t divide_up(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

struct Prediction {
  int slices = 1;
  double clocks = 0;  // where there is more than one
};

// Nothing is predicted for kernels that cannot slice the problem: launches wait for this.
Prediction best_slices(const KernelEntry& kernel, const ProgramView& program,
                       const Problem& problem, const Device& device) {
  if (kernel.slice_space.empty()) return {};
  const kernel::Grid grid = grid_of(kernel, problem, device, 1);
  const int most = std::min(kMaxSlices, grid.depth_blocks / kMinSliceBlocks);
  const auto at_once =
      static_cast<uint32_t>(clusters_at_once(kernel.config, device.multiprocessors));
  if (most < 2 || grid.tiles > kMostWaves * at_once) return {};
  Prediction best{1, kWorthwhile * predict_clocks(kernel, program, problem, device)};
  for (int slices = 2; slices <= most; ++slices) {
    const int slice_blocks = (grid.depth_blocks + slices - 1) / slices;
    const int last = grid.depth_blocks - slice_blocks * (slices - 1);
    if (last < kMinSliceBlocks) continue;
    const double clocks = predict_sliced_clocks(kernel, program, problem, device, slices);
    if (clocks < best.clocks) best = {slices, clocks};
  }
  return best;
}

}  // namespace

kernel::Workspace WorkspaceLayout::at(void* memory) const {
  auto* bytes = static_cast<std::byte*>(memory);
  return {reinterpret_cast<float*>(bytes), reinterpret_cast<uint32_t*>(bytes + partial_bytes)};
}

WorkspaceLayout workspace_layout(const SliceSpace& space, uint32_t tiles, int slices) {
  if (slices == 1) return {};
  return {int64_t{tiles} * slices * space.floats * 4, int64_t{tiles} * space.counters * 4};
}

int64_t workspace_bytes(const KernelEntry& kernel, const Problem& problem, int slices) {
  const uint32_t tiles = make_grid(problem, kernel.config, kernel.accumulators, 1).tiles;
  return workspace_layout(kernel.slice_space, tiles, slices).bytes();
}

// As many tiles with a contraction as short as the slices': each has an epilogue's worth of sums to
// leave. Then what only slices have.
double predict_sliced_clocks(const KernelEntry& kernel, const ProgramView& program,
                             const Problem& problem, const Device& device, int slices) {
  if (slices == 1) return predict_clocks(kernel, program, problem, device);
  const kernel::Grid grid = grid_of(kernel, problem, device, slices);
  const ClusterTile tile = cluster_tile(kernel.config, kernel.accumulators);
  Problem short_ones;
  short_ones.rows.begin[1] = int64_t{grid.row_tiles} * tile.rows * slices;
  short_ones.columns.begin[1] = int64_t{grid.column_tiles} * tile.columns;
  short_ones.contraction.begin[1] = int64_t{grid.slice_blocks} * kernel::kBlockDepth;

  const double bytes = 4.0 * kernel.config.rows * kernel.config.columns /
                       (kernel.config.pingpong ? 1 : 2);  // that a consumer has of a tile
  const double leave = kUnitClocks + bytes / kStoreBytesPerClock;
  const double gather = slices * bytes / kLoadBytesPerClock;
  return kLaunchClocks + predict_clocks(kernel, program, short_ones, device) +
         divide_up(grid.units, grid.clusters) * leave +
         divide_up(grid.tiles, grid.clusters) * gather;
}

std::string sliced_name(const KernelEntry& kernel, int slices) {
  const std::string name = config_name(kernel.config);
  return slices > 1 ? fmt::format("{}_k{}", name, slices) : name;
}

SlicedChoice choose_sliced(const SlicesRequest& asked, std::span<const KernelEntry> kernels,
                           const ProgramView& program, const LaunchRequest& request,
                           const Device& device) {
  const Problem& problem = *request.problem;
  // A tuned kernel takes the whole contraction; it has no say in whether there are slices, which
  // would change a result's bits.
  const KernelEntry& predicted =
      asked.kernel != nullptr ? pick(asked.kernel, kernels, program, request, device)
                              : choose(kernels, program, problem, *request.a, *request.b, device);
  if (asked.slices != 0) {
    const int most = predicted.slice_space.empty() ? 1 : kMaxSlices;
    if (asked.slices < 1 || asked.slices > most) {
      fail_argument(
          program.name, "slices",
          fmt::format("1 to {} for configuration {}", most, config_name(predicted.config)),
          fmt::format("{}", asked.slices));
    }
    return {&predicted, asked.slices};
  }
  if (asked.kernel != nullptr) {
    return {&predicted, best_slices(predicted, program, problem, device).slices};
  }
  SlicedChoice best{&predicted, 1};
  double least = kWorthwhile * predict_clocks(predicted, program, problem, device);
  for (const KernelEntry& kernel : kernels) {
    if (!fits(kernel, program, *request.a, *request.b)) continue;
    const Prediction prediction = best_slices(kernel, program, problem, device);
    if (prediction.slices > 1 && prediction.clocks < least) {
      best = {&kernel, prediction.slices};
      least = prediction.clocks;
    }
  }
  if (best.slices == 1) best.kernel = &pick(nullptr, kernels, program, request, device);
  return best;
}

void validate_workspace(const ProgramView& program, const LaunchRequest& request, void* workspace,
                        int64_t bytes, int64_t needed) {
  if (workspace == nullptr || bytes < needed) {
    fail_argument(program.name, "workspace", fmt::format("at least {} bytes", needed),
                  workspace == nullptr ? "a null pointer" : fmt::format("{}", bytes));
  }
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    fail_argument(program.name, "workspace",
                  fmt::format("memory aligned to {} bytes", kWorkspaceAlignment),
                  fmt::format("address {}", workspace));
  }
  PortView port;  // of all outputs the one that may not even be an input
  port.name = "workspace";
  port.kind = PortKind::kRowReduce;
  port.given = true;
  port.view[0] = {workspace, DType::kFp32, 1, needed / 4, needed / 4};
  ProgramView with = program;
  with.ports.push_back(port);
  check_overlap(with, *request.a, *request.b);
}

}  // namespace coda::plan
