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

  // The current tile. Rows and columns count from the start of its segment.
  int segment;
  int row;                            // of the warp's slab in the first row block
  int column;                         // of the tile
  int rows_end, columns_end;          // of the segment
  int64_t row_origin, column_origin;  // of the segment in the whole problem
  int row_partial, column_partial;    // partials before the segment, along N and along M
  int wide_row_partial;               // likewise along N, where one covers 128 columns
};

// What TMA does to the 16-byte chunks of a line of kBytes: it exchanges them by the line's number.
template <int kBytes>
CODA_DEVICE uint32_t swizzle(uint32_t line) {
  static_assert(kBytes == 128 || kBytes == 64 || kBytes == 32);
  return kBytes == 128 ? line & 7 : kBytes == 64 ? line >> 1 & 3 : line >> 2 & 1;
}

// A lane's line address for load_matrix_x4 of columns 0 to 15 of a slab of 16 lines; columns 16i
// and on stand at this address with i << 5 exchanged into it.
template <int kBytes>
CODA_DEVICE uint32_t matrix_offset(uint32_t lane) {
  const uint32_t line = lane & 15;
  return line * kBytes + (((lane >> 4) ^ swizzle<kBytes>(line)) << 4);
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
