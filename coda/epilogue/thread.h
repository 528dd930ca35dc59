// Where a consumer thread stands: its warp's buffers and its tile's place in the problem.
#pragma once
#include "coda/epilogue/hardware.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

struct EpilogueThread {
  uint32_t lane;
  uint32_t input, output;  // the consumer's input set 0 and output set 0
  uint32_t vectors;        // of the consumer
  uint32_t columns;        // the consumer's column states
  uint32_t warp;           // 0 to 3 within the consumer
  uint32_t matrix_line;    // in buffers of two-byte elements

  // The current tile. Rows and columns count from the start of its segment.
  int segment;
  int half;                           // of a head, in columns, where B comes as halves
  int over_half;                      // 2¹⁶ over it, rounded up
  int in_half;                        // where the tile begins in one
  int row;                            // of the warp's slab in the first row block
  int column;                         // of the tile
  int rows_end, columns_end;          // of the segment
  int64_t row_origin, column_origin;  // of the segment in the whole problem
  int row_partial, column_partial;    // partials before the segment, along N and along M
  int wide_row_partial;               // likewise along N, where one covers 128 columns

  // Of a column of the tile; without a division, which is exact as both are below 256.
  CODA_DEVICE int place_in_half(int tile_column) const {
    const int ahead = in_half + tile_column;
    return ahead - (ahead * over_half >> 16) * half;
  }
};

// What TMA does to the 16-byte chunks of a line of kBytes: it exchanges them by the line's number,
// unless lines have another length than these.
template <int kBytes>
CODA_DEVICE uint32_t swizzle(uint32_t line) {
  return kBytes == 128 ? line & 7 : kBytes == 64 ? line >> 1 & 3 : kBytes == 32 ? line >> 2 & 1 : 0;
}

// Where a lane's line for load_matrix_x4 stands in a consumer's 64 lines of kBytes, 16 of a warp:
// the first 16 lanes name the first eight columns of 16, the others the second.
template <int kBytes>
CODA_DEVICE uint32_t matrix_line(uint32_t warp, uint32_t lane) {
  const uint32_t line = lane & 15;
  return (warp * 16 + line) * kBytes + (((lane >> 4) ^ swizzle<kBytes>(line)) << 4);
}
// That line `first` bytes further along, a multiple of 16.
template <int kBytes>
CODA_DEVICE uint32_t along_line(uint32_t matrix_line, uint32_t first) {
  constexpr bool kSwizzled = kBytes == 128 || kBytes == 64 || kBytes == 32;
  return kSwizzled ? matrix_line ^ first : matrix_line + first;
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
