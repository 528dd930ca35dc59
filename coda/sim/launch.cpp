#include "coda/sim/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "coda/sim/scheduler.h"

namespace coda::sim {

namespace {

constexpr uint32_t kRegistersOfBlock = 65536;
constexpr size_t kMaxSharedBytes = 232448;

void require(bool holds, const char* argument, const char* expected, int64_t got) {
  if (!holds) fail_argument("sim::launch", argument, expected, fmt::format("{}", got));
}

Grid make_grid(const Launch& launch, const LaunchOptions& options) {
  const auto shared = static_cast<int64_t>(launch.shared_bytes);
  require(launch.cluster_size >= 1 && launch.cluster_size <= 8, "cluster_size", "1 to 8",
          launch.cluster_size);
  require(launch.blocks >= 1 && launch.blocks % launch.cluster_size == 0, "blocks",
          "a positive multiple of cluster_size", launch.blocks);
  require(launch.threads >= 32 && launch.threads <= 1024 && launch.threads % 32 == 0, "threads",
          "a multiple of 32 up to 1024", launch.threads);
  require(launch.shared_bytes <= kMaxSharedBytes, "shared_bytes", "at most 232448", shared);
  Grid grid;
  grid.blocks = static_cast<uint32_t>(launch.blocks);
  grid.cluster_size = static_cast<uint32_t>(launch.cluster_size);
  grid.threads = static_cast<uint32_t>(launch.threads);
  grid.shared_bytes = static_cast<uint32_t>(launch.shared_bytes);
  grid.programmatic = launch.programmatic;
  grid.kernel = launch.kernel;
  const uint32_t fitting = std::min(kRegistersOfBlock / grid.threads / 8 * 8, 248u);
  grid.registers = options.registers_per_thread > 0
                       ? static_cast<uint32_t>(options.registers_per_thread)
                       : fitting;
  require(grid.registers * grid.threads <= kRegistersOfBlock, "registers_per_thread",
          "at most 65536 in a block", options.registers_per_thread);
  return grid;
}

}  // namespace

Report run_stream(std::span<const Launch> launches, const LaunchOptions& options) {
  std::vector<Grid> grids;
  for (const Launch& launch : launches) {
    grids.push_back(make_grid(launch, options));
    grids.back().index = static_cast<int>(grids.size() - 1);
  }
  Machine machine(std::move(grids), options);
  machine.run();
  return std::move(machine.report);
}

}  // namespace coda::sim
