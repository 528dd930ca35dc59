#include "coda/plan/predict.h"

#include <algorithm>
#include <cmath>

#include "coda/plan/grid.h"

namespace coda::plan {
namespace {

// H200, between its two regimes (power-limited near 1.4 GHz, full clock 1.98 GHz).
constexpr double kClockHz = 1.7e9;
constexpr double kL2BytesPerSecond = 7.6e12;
constexpr double kMemoryBytesPerSecond = 4.0e12;
constexpr double kTensorColumnsPerClock = 0.25;  // of 128 rows × 64 contraction elements
constexpr double kStartClocks = 2500;            // launch, barriers, the first stages
// What a consumer spends on a tile beside the multiplication: once, and per element and tile port
// of two bytes (128 threads).
constexpr double kTileClocks = 600;
constexpr double kPortClocks = 0.13;
constexpr double kElementClocks = 0.05;  // accumulators through the program

struct EpilogueCount {
  double port_halves = 0;  // two-byte elements that travel per output element and accumulator set
};

EpilogueCount count_ports(const ProgramView& program) {
  EpilogueCount count;
  for (const PortView& port : program.ports) {
    const bool tile = port.kind == PortKind::kPerElement || port.kind == PortKind::kStore;
    if (tile && port.given) count.port_halves += static_cast<double>(port.element_bytes) / 2;
  }
  return count;
}

}  // namespace

double predict_clocks(const KernelEntry& kernel, const ProgramView& program, const Problem& problem,
                      const Device& device) {
  const kernel::TileConfig& tile = kernel.config;
  const int cluster = tile.cluster_rows * tile.cluster_columns;
  const kernel::Grid grid =
      make_grid(problem, tile, kernel.accumulators, std::max(device.multiprocessors / cluster, 1));
  const double waves = std::ceil(static_cast<double>(grid.tiles) / std::max(grid.clusters, 1u));

  // A stage: blocks stacked along M share B, along N share A.
  const double tensor = tile.rows / 128.0 * tile.columns / kTensorColumnsPerClock;
  const double stage_bytes = 2.0 * kernel::kBlockDepth *
                             (static_cast<double>(tile.rows) / tile.cluster_columns +
                              static_cast<double>(tile.columns) / tile.cluster_rows);
  const double l2_per_clock = kL2BytesPerSecond / kClockHz / device.multiprocessors;
  const double mainloop = grid.depth_blocks * std::max(tensor, stage_bytes / l2_per_clock);

  const double halves = count_ports(program).port_halves;
  const double elements =
      static_cast<double>(tile.rows) * tile.columns / kernel.accumulators / (tile.pingpong ? 1 : 2);
  const double epilogue =
      kTileClocks + elements * (kPortClocks * halves + kElementClocks * kernel.accumulators);
  // Pingpong: one consumer's epilogue runs under the other's mainloop, as far as it is that long.
  const double per_tile =
      tile.pingpong ? std::max(mainloop, (mainloop + epilogue) / 2) : mainloop + epilogue;
  const double compute = kStartClocks + waves * per_tile + (tile.pingpong ? epilogue : 0);

  const double outputs = static_cast<double>(problem.M()) * static_cast<double>(problem.N());
  const double inputs =
      static_cast<double>(problem.K()) *
      (static_cast<double>(problem.M()) + static_cast<double>(problem.N()) * kernel.accumulators);
  const double memory = 2 * (outputs * halves + inputs) * kClockHz / kMemoryBytesPerSecond;
  return std::max(compute, memory);
}

}  // namespace coda::plan
