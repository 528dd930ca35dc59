// The problem as the kernel sees it: segments in tiles, and the order in which clusters take them.
#pragma once
#include "coda/program/ports.h"

namespace coda::kernel {

// One direction of the output: segments, each starting a new tile. Tiles are those of a cluster.
struct Axis {
  int segments = 1;
  int size[kMaxSegments] = {};          // elements
  int64_t origin[kMaxSegments] = {};    // first element in the whole problem
  int partial[kMaxSegments] = {};       // partials of 64 before the segment
  int wide_partial[kMaxSegments] = {};  // and of 128
  int first_tile[kMaxSegments] = {};
};

struct Grid {
  Axis rows, columns;
  int half = 0;        // of a head, in columns, where B comes as halves
  int over_half = 0;   // 2¹⁶ over it, rounded up
  int half_lines = 0;  // of a half, that a box of B has: as many as divide halves and tiles
  int depth_segments = 1;
  int depth[kMaxSegments] = {};  // of the contraction
  int depth_blocks = 0;          // in all its segments
  uint32_t row_tiles = 0, column_tiles = 0, tiles = 0;
  uint32_t group = 1;  // tile rows that are walked together
  uint32_t clusters = 0;
  uint32_t paced = 0;  // whether clusters wait for each other
  // Tiles of the last column, one in every tile row, that have less to multiply than the others and
  // are handed out apart from them (walk.h). Clusters from first_short on have one of the others
  // less than those before, for which made_up narrow ones make up.
  uint32_t narrow = 0, first_short = 0, made_up = 0;
  // Units of work, which clusters take: `uncut` tiles, then slices of the others' contraction.
  uint32_t units = 0, uncut = 0, slices = 1;
  int slice_blocks = 0;
};

// Where the sums of slices meet; the caller's memory.
struct Workspace {
  float* partials = nullptr;
  uint32_t* counters = nullptr;  // of slices that have come; zero before the launch
};

// Where clusters wait for each other (pace.h); null: they do not. Zero before the first launch.
struct Pace {
  uint32_t* tiles = nullptr;    // that clusters have begun
  uint32_t* in_vain = nullptr;  // whether one has waited so
};
inline constexpr uint32_t kMostPaced = 256;  // clusters

// Where a column of the first accumulator stands among the columns of whole heads; that of the
// second stands half a head further.
CODA_HD int paired_column(int column, int half) { return column + column / half * half; }

struct TilePlace {
  int row_segment, column_segment;
  int row, column;  // of the cluster's tile, within its segments

  CODA_HD int segment() const { return row_segment + column_segment; }
};

// Segment of a tile along an axis; the tile becomes its number within.
CODA_HD int find_segment(const Axis& axis, int& tile) {
  int segment = 0;
  CODA_UNROLL
  for (int s = 1; s < kMaxSegments; ++s) {
    if (s < axis.segments && tile >= axis.first_tile[s]) segment = s;
  }
  tile -= axis.first_tile[segment];
  return segment;
}

// Groups of `group` tile rows, walked column by column; every other group from right to left, so
// that what was last in L2 is used first. Narrow tiles come after all others, row by row.
CODA_HD TilePlace tile_place(const Grid& grid, uint32_t tile, int tile_rows, int tile_columns) {
  const uint32_t columns = grid.column_tiles - (grid.narrow > 0 ? 1 : 0);
  const uint32_t whole = grid.tiles - grid.narrow;
  int row = 0, column = 0;
  if (tile >= whole) {
    row = static_cast<int>(tile - whole);
    column = static_cast<int>(columns);
  } else {
    const uint32_t per_group = grid.group * columns;
    const uint32_t group = tile / per_group, within = tile - group * per_group;
    const uint32_t first = group * grid.group;
    const uint32_t left = grid.row_tiles - first, rows = left < grid.group ? left : grid.group;
    const uint32_t across = within / rows;
    row = static_cast<int>(first + (within - across * rows));
    column = static_cast<int>((group & 1) != 0 ? columns - 1 - across : across);
  }
  TilePlace place;
  place.row_segment = find_segment(grid.rows, row);
  place.column_segment = find_segment(grid.columns, column);
  place.row = row * tile_rows;
  place.column = column * tile_columns;
  return place;
}

}  // namespace coda::kernel
