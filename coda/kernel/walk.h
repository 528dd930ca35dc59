// Which units of work a cluster takes, one after the other: c, c + clusters, ...
//
// Narrow tiles would upset this: clusters that meet them run ahead and stand idle in the end. So
// they are handed out apart. Clusters that get one whole tile less take as many as make up for it,
// all clusters in turn the rest, each when the walk comes to the rows that it is of, whose part of
// A is in L2 then.
#pragma once
#include "coda/kernel/grid.h"

namespace coda::kernel {

namespace detail {
CODA_HD uint32_t first_narrow(const Grid& grid, uint32_t cluster) {
  const uint32_t among_short = cluster - grid.first_short;
  return cluster >= grid.first_short ? among_short : grid.made_up + cluster;
}
// The same cluster's next. After its share of those that make up, cluster c comes to made_up + c.
CODA_HD uint32_t narrow_after(const Grid& grid, uint32_t narrow) {
  if (narrow >= grid.made_up) return narrow + grid.clusters;
  narrow += grid.clusters - grid.first_short;
  return narrow < grid.made_up ? narrow : narrow + grid.first_short;
}
}  // namespace detail

// The number of a cluster's i-th unit; at least grid.units where it has no more. Worked out anew at
// every use: beside the accumulators there are hardly any registers to remember a walk in.
template <bool kNarrows>
CODA_HD uint32_t unit_number(const Grid& grid, uint32_t cluster, uint32_t i) {
  uint32_t number = cluster + i * grid.clusters;
  if constexpr (kNarrows) {
    const uint32_t whole = grid.units - grid.narrow;
    uint32_t narrow = detail::first_narrow(grid, cluster);
    // The unit is a narrow tile, or comes before the next one; else a whole tile less comes first.
    for (uint32_t before = 0; narrow < grid.narrow; ++before) {
      const uint32_t turn = narrow * (grid.column_tiles - 1);
      if (number < turn) break;
      if (i == before || number - grid.clusters < turn) return whole + narrow;
      number -= grid.clusters;
      narrow = detail::narrow_after(grid, narrow);
    }
    if (number >= whole) return grid.units;
  }
  return number;
}

}  // namespace coda::kernel
