#include "coda/plan/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"

namespace coda::plan {
namespace {

// Between a warpgroup and L2, in bytes per clock: sums that are left, and that are gathered (eight
// loads of 16 bytes in flight per thread, about 800 clocks each).
constexpr double kStoreBytesPerClock = 32, kLoadBytesPerClock = 20;
// A launch that waits for its counters to be zeroed, and a fence and an atomic of every unit.
constexpr double kLaunchClocks = 3000, kUnitClocks = 1500;
// Slices that are predicted to gain less are not worth their traffic.
constexpr double kWorthwhile = 0.97;

uint32_t divide_up(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

uint32_t at_once(const KernelEntry& kernel, const Device& device) {
  return static_cast<uint32_t>(clusters_at_once(kernel.config, device.multiprocessors));
}

kernel::Grid grid_of(const KernelEntry& kernel, const Problem& problem, uint32_t clusters,
                     const Slicing& slicing) {
  return make_grid(problem, kernel.config, kernel.accumulators, static_cast<int>(clusters),
                   slicing);
}

// Tiles of the last round of clusters: what remains of full ones, or a full one.
uint32_t in_last_round(uint32_t tiles, uint32_t clusters) {
  return tiles - (std::max(tiles, 1u) - 1) / clusters * clusters;
}

// whole: the clocks without slices. What a round of whole tiles takes, by their number; then what
// only slices have.
double sliced_clocks(const KernelEntry& kernel, const kernel::Grid& grid, double whole) {
  const double round = whole / divide_up(grid.tiles, grid.clusters);
  const uint32_t sliced = divide_up(grid.units - grid.uncut, grid.clusters);
  const double share = static_cast<double>(grid.slice_blocks) / grid.depth_blocks;
  const double bytes = 4.0 * kernel.config.rows * kernel.config.columns /
                       (kernel.config.pingpong ? 1 : 2);  // that a consumer has of a tile
  const double leave = kUnitClocks + bytes / kStoreBytesPerClock;
  const double gather = grid.slices * bytes / kLoadBytesPerClock;
  return kLaunchClocks + round * (divide_up(grid.uncut, grid.clusters) + sliced * share) +
         sliced * leave + divide_up(grid.tiles - grid.uncut, grid.clusters) * gather;
}

struct Prediction {
  Slicing slicing;
  double clocks = 0;  // where there are slices
};

// Launches wait for this: nothing is predicted for kernels that cannot slice the problem, and one
// grid serves all numbers of slices.
Prediction best_slices(const KernelEntry& kernel, const ProgramView& program,
                       const Problem& problem, const Device& device) {
  if (kernel.slice_space.empty()) return {};
  const uint32_t clusters = at_once(kernel, device);
  kernel::Grid grid = grid_of(kernel, problem, clusters, {});
  const int most = std::min(kMaxSlices, grid.depth_blocks / kMinSliceBlocks);
  if (most < 2) return {};
  const double whole = predict_clocks(kernel, program, problem, device);
  const uint32_t cut = in_last_round(grid.tiles, clusters);
  grid.uncut = grid.tiles - cut;
  Prediction best{{}, kWorthwhile * whole};
  for (int slices = 2; slices <= most; ++slices) {
    grid.slice_blocks = (grid.depth_blocks + slices - 1) / slices;
    if (grid.depth_blocks - grid.slice_blocks * (slices - 1) < kMinSliceBlocks) continue;
    grid.slices = static_cast<uint32_t>(slices);
    grid.units = grid.uncut + cut * grid.slices;
    grid.clusters = std::min(grid.units, clusters);
    const double clocks = sliced_clocks(kernel, grid, whole);
    if (clocks < best.clocks) best = {{slices, cut}, clocks};
  }
  return best;
}

}  // namespace

kernel::Workspace WorkspaceLayout::at(void* memory) const {
  auto* bytes = static_cast<std::byte*>(memory);
  return {reinterpret_cast<float*>(bytes), reinterpret_cast<uint32_t*>(bytes + partial_bytes)};
}

WorkspaceLayout workspace_layout(const SliceSpace& space, const kernel::Grid& grid) {
  const int64_t cut = grid.tiles - grid.uncut;
  return {cut * grid.slices * space.floats * 4, cut * space.counters * 4};
}

int64_t workspace_bytes(const KernelEntry& kernel, const Problem& problem, const Slicing& slicing) {
  return workspace_layout(kernel.slice_space, grid_of(kernel, problem, 1, slicing)).bytes();
}

double predict_sliced_clocks(const KernelEntry& kernel, const ProgramView& program,
                             const Problem& problem, const Device& device, const Slicing& slicing) {
  const double whole = predict_clocks(kernel, program, problem, device);
  if (slicing.slices == 1) return whole;
  return sliced_clocks(kernel, grid_of(kernel, problem, at_once(kernel, device), slicing), whole);
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
    return {&predicted, {.slices = asked.slices}};
  }
  if (asked.kernel != nullptr) {
    return {&predicted, best_slices(predicted, program, problem, device).slicing};
  }
  SlicedChoice best{&predicted, {}};
  double least = kWorthwhile * predict_clocks(predicted, program, problem, device);
  for (const KernelEntry& kernel : kernels) {
    if (!fits(kernel, program, *request.a, *request.b)) continue;
    const Prediction prediction = best_slices(kernel, program, problem, device);
    if (prediction.slicing.slices > 1 && prediction.clocks < least) {
      best = {&kernel, prediction.slicing};
      least = prediction.clocks;
    }
  }
  if (best.slicing.slices == 1) best.kernel = &pick(nullptr, kernels, program, request, device);
  return best;
}

}  // namespace coda::plan
