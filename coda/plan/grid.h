// A problem cut into a kernel's tiles. Host only.
#pragma once
#include <limits>

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

// A contraction cut into slices, that of the last so many tiles.
struct Slicing {
  int slices = 1;
  uint32_t tiles = std::numeric_limits<uint32_t>::max();  // of clusters; at most all

  bool operator==(const Slicing&) const = default;
};

// active_clusters: how many the GPU runs at once.
kernel::Grid make_grid(const Problem& problem, const kernel::TileConfig& config, int accumulators,
                       int active_clusters, const Slicing& slicing = {});

}  // namespace coda::plan
