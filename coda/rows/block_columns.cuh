// Column sums of a block whose warps have eight rows of the same 256 columns each, those of a
// partial together: added up in the order of the warps.
#pragma once
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kBlockRows = kPartialWidth / kWarps;  // of a warp

struct BlockColumns {
  float sums[kWarps][kWarpColumns];  // shared memory

  // mine: of the lane's eight columns; all threads of the block take part.
  CODA_DEVICE void write(const Lines<float>& to, int64_t tile, int64_t slab, int64_t columns,
                         const float (&mine)[kVector]) {
    const int thread = static_cast<int>(threadIdx.x);
    float4* const place = reinterpret_cast<float4*>(sums[thread / 32] + thread % 32 * kVector);
    place[0] = {mine[0], mine[1], mine[2], mine[3]};
    place[1] = {mine[4], mine[5], mine[6], mine[7]};
    __syncthreads();
    float sum = 0;
    CODA_UNROLL
    for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp][thread];
    const int64_t column = slab * kWarpColumns + thread;
    if (column < columns) to.line(tile)[column] = sum;
    __syncthreads();
  }
};
static_assert(kThreads == kWarpColumns, "a thread adds up a column");

}  // namespace coda::row
