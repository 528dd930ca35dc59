#include "coda/plan/predict.h"

#include <algorithm>
#include <cmath>

#include "coda/plan/grid.h"

namespace coda::plan {
namespace {

// Fitted to measurements on an H200 (bench/results/h200.json): geometric means of its two regimes,
// in clocks at 1.755 GHz. tests/tools/choice_test.cpp says how far the choice is from the best.
constexpr double kClockHz = 1.755e9;
constexpr double kTensorColumnsPerClock = 0.25;  // of 128 rows × 64 contraction elements
// Of what the tensor cores could do. At the power limit they wait for nothing and are slower still:
// each byte less to shared memory per 1000 multiply-adds than with 128×192 is energy, so clocks.
constexpr double kTensorSlack = 1.258, kUsualArriving = 26, kSlackPerByte = 0.006;
constexpr double kL2BytesPerClock = 39;  // of a multiprocessor
// Clusters that walk row by row ask for the same rows of A at the same time, and some of these
// requests become one, as long as all that a round of them reads stays in L2.
constexpr double kMergedReads = 1.2, kRoundBytesInL2 = 16e6;
// Blocks drift apart over a long contraction and many waves, and then share less in L2. Where they
// wait for each other at every tile, those of pingpong kernels do so within a very long one.
constexpr double kDrift = 0.2, kDriftContraction = 24000, kDriftWaves = 40;
constexpr double kPacedDrift = 0.25, kPacedFrom = 11000, kPacedPer = 22000;
// Of each regime over their geometric mean, which the clocks stand for.
constexpr double kRandomOverMean = 1.10, kZerosOverMean = 0.92;
constexpr double kStartClocks = 2500;  // launch, barriers, the first stages
// An epilogue: per tile, and per element of a consumer and tile port, in two-byte elements.
constexpr double kTileClocks = 100, kPortClocks = 0.3;
constexpr double kReductionHalves = 2;  // of a state of several numbers
// What it costs where no other mainloop covers it: a part, as the next stages are loaded meanwhile.
constexpr double kExposed = 0.8;

// Two-byte elements that travel for each element of the output.
double port_halves(const ProgramView& program) {
  double halves = 0;
  for (const PortView& port : program.ports) {
    const bool tile = port.kind == PortKind::kPerElement || port.kind == PortKind::kStore;
    const int pairs = port.paired ? 2 : 1;
    if (tile && port.given) halves += pairs * static_cast<double>(port.element_bytes) / 2;
  }
  return halves;
}

// What reductions take of an epilogue, as so many of those: an exponential and more for the states
// of cross-entropy, next to nothing for a sum.
double reduction_halves(const ProgramView& program) {
  double halves = 0;
  for (const PortView& port : program.ports) {
    const bool reduces = port.kind == PortKind::kRowReduce || port.kind == PortKind::kColumnReduce;
    if (reduces && port.given && port.element_bytes > 4) halves += kReductionHalves;
  }
  return halves;
}

// What kernel, program and problem make of a tile of so many columns.
struct TileCost {
  double mainloop = 0, epilogue = 0;
  // Pingpong: one consumer's epilogue runs under the other's mainloop, as far as it is that long.
  double clocks(bool pingpong) const {
    return pingpong ? std::max(mainloop, (mainloop + epilogue) / 2)
                    : mainloop + kExposed * epilogue;
  }
};

// Whole tiles that the cluster with the most to do has, and narrow ones, of which each counts as
// `share` of a whole one (kernel/walk.h).
double longest_walk(const kernel::Grid& grid, double share) {
  const uint32_t clusters = std::max(grid.clusters, 1u), whole = grid.tiles - grid.narrow;
  const uint32_t each = whole / clusters, longer = whole % clusters, shorter = clusters - longer;
  const auto turns = [](uint32_t tiles, uint32_t takers) { return (tiles + takers - 1) / takers; };
  const uint32_t made_up = std::min(grid.narrow, grid.made_up), rest = grid.narrow - made_up;
  const double longest = longer > 0 ? each + 1 + share * turns(rest, clusters) : 0;
  const uint32_t also = rest > longer ? turns(rest - longer, clusters) : 0;
  return std::max(longest, each + share * (turns(made_up, shorter) + also));
}

// Bytes through L2 that sharing would have saved, as a share of those that it leaves.
double drift_of(const kernel::Grid& grid, const kernel::TileConfig& tile, double contraction) {
  if (grid.paced != 0) {
    const double more = std::max(contraction - kPacedFrom, 0.0) / kPacedPer;
    return tile.pingpong ? kPacedDrift * more : 0;
  }
  const double waves = std::ceil(static_cast<double>(grid.tiles) / std::max(grid.clusters, 1u));
  return kDrift * std::min(1.0, contraction / kDriftContraction) *
         std::min(1.0, waves / kDriftWaves);
}

// Bytes of A and B that the tiles in flight read.
double round_bytes(const kernel::Grid& grid, const KernelEntry& kernel, const Problem& problem) {
  const ClusterTile tile = cluster_tile(kernel.config, kernel.accumulators);
  const double in_flight = std::max(std::min(grid.clusters, grid.tiles), 1u);
  const double across = std::min<double>(grid.column_tiles, in_flight / grid.group);
  const double rows = in_flight / std::max(across, 1.0) * tile.rows;
  const double columns = across * tile.columns * kernel.accumulators;
  return 2 * static_cast<double>(problem.K()) * (rows + columns);
}

}  // namespace

double predict_clocks(const KernelEntry& kernel, const ProgramView& program, const Problem& problem,
                      const Device& device) {
  const kernel::TileConfig& tile = kernel.config;
  const kernel::Grid grid =
      make_grid(problem, tile, kernel.accumulators, clusters_at_once(tile, device.multiprocessors));
  const bool merges = grid.group == 1 && round_bytes(grid, kernel, problem) <= kRoundBytesInL2;
  const double l2_rate = kL2BytesPerClock * (merges ? kMergedReads : 1);
  const double drift = 1 + drift_of(grid, tile, static_cast<double>(problem.K()));
  const double halves = port_halves(program);
  const double work = halves + reduction_halves(program);  // of an epilogue
  const double arriving = 2000.0 * (tile.rows + tile.columns) / (tile.rows * tile.columns);
  const double slack = kTensorSlack - kSlackPerByte * std::max(kUsualArriving - arriving, 0.0);

  const auto cost = [&](int columns) {
    // A stage: blocks stacked along M share B, along N share A.
    const double tensor = tile.rows / 128.0 * columns / kTensorColumnsPerClock;
    const double stage_bytes = 2.0 * kernel::kBlockDepth *
                               (static_cast<double>(tile.rows) / tile.cluster_columns +
                                static_cast<double>(columns) / tile.cluster_rows);
    const double elements = static_cast<double>(tile.rows) * columns / kernel.accumulators;
    // The epilogue's tensors pass through L2 beside the mainloop's, whoever covers its clocks.
    const double l2_bytes = grid.depth_blocks * stage_bytes * drift + 2 * elements * halves;
    return TileCost{std::max(grid.depth_blocks * slack * tensor, l2_bytes / l2_rate),
                    kTileClocks + elements / (tile.pingpong ? 1 : 2) * kPortClocks * work};
  };
  const TileCost whole = cost(tile.columns);
  const double per_tile = whole.clocks(tile.pingpong);
  const auto inside = static_cast<int>(problem.N() % tile.columns + 63) / 64 * 64;
  const double narrow = cost(inside).clocks(tile.pingpong);
  const double compute = kStartClocks + longest_walk(grid, narrow / per_tile) * per_tile +
                         (tile.pingpong ? whole.epilogue : 0);

  const double outputs = static_cast<double>(problem.M()) * static_cast<double>(problem.N());
  const double inputs =
      static_cast<double>(problem.K()) *
      (static_cast<double>(problem.M()) + static_cast<double>(problem.N()) * kernel.accumulators);
  const double memory = 2 * (outputs * halves + inputs) * kClockHz / kMemoryBytesPerSecond;
  return std::max(compute, memory);
}

double predict_seconds(const KernelEntry& kernel, const ProgramView& program,
                       const Problem& problem, const Device& device, Regime regime) {
  const double mean = predict_clocks(kernel, program, problem, device) / kClockHz;
  return mean * (regime == Regime::kRandom ? kRandomOverMean : kZerosOverMean);
}

}  // namespace coda::plan
