// A problem cut into a kernel's tiles. Host only.
#pragma once
#include "coda/kernel/config.h"
#include "coda/kernel/grid.h"
#include "coda/program/problem.h"

namespace coda::plan {

// Rows and columns (of one accumulator) of the tile that a cluster works on.
struct ClusterTile {
  int rows = 0, columns = 0;
};
ClusterTile cluster_tile(const kernel::TileConfig& config, int accumulators);

// Clusters that a GPU with so many multiprocessors can run at once, if all of them can be paired.
int clusters_at_once(const kernel::TileConfig& config, int multiprocessors);

// active_clusters: how many the GPU runs at once. slices: of the contraction.
kernel::Grid make_grid(const Problem& problem, const kernel::TileConfig& config, int accumulators,
                       int active_clusters, int slices = 1);

}  // namespace coda::plan
