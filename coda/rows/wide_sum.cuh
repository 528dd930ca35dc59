// Sums of floats in fp64, shared by the threads of one or several warps, in a fixed order.
#pragma once
#include "coda/rows/launch.cuh"
#include "coda/rows/quad.cuh"

namespace coda::row {

inline constexpr int kAhead = 8;  // loads in flight

// A thread's share of Σ term(x[i]) over `count` elements: quads `thread`, `thread + threads`, ...,
// with `vectors` 16 bytes at a time.
template <class Term>
CODA_DEVICE double sum_quads(const float* x, int64_t count, int thread, int threads, bool vectors,
                             Term&& term) {
  double sums[kQuad] = {};
  const auto add = [&](const float(&v)[kQuad]) {
    CODA_UNROLL
    for (int i = 0; i < kQuad; ++i) sums[i] += term(static_cast<double>(v[i]));
  };
  const int64_t step = int64_t{kQuad} * threads;
  int64_t column = int64_t{kQuad} * thread;
  if (vectors) {
    for (; column + (kAhead - 1) * step + kQuad <= count; column += kAhead * step) {
      float v[kAhead][kQuad];
      CODA_UNROLL
      for (int i = 0; i < kAhead; ++i) load_quad(x + column + i * step, v[i]);
      CODA_UNROLL
      for (int i = 0; i < kAhead; ++i) add(v[i]);
    }
  }
  for (; column < count; column += step) {
    float v[kQuad];
    const int there = quad_count(column, count);
    if (vectors && there == kQuad) {
      load_quad(x + column, v);
    } else {
      load_part(x + column, there, v);
    }
    add(v);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The sum over the threads of kShare neighbouring warps, the same in all of them. The whole block
// takes part.
template <int kShare>
CODA_DEVICE double sum_warps(double sum) {
  CODA_UNROLL
  for (int mask = 1; mask < 32; mask *= 2) sum += ptx::shuffle_xor(sum, mask);
  if constexpr (kShare == 1) return sum;
  __shared__ double sums[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (ptx::lane() == 0) sums[warp] = sum;
  __syncthreads();
  double total = 0;
  CODA_UNROLL
  for (int i = 0; i < kShare; ++i) total += sums[warp / kShare * kShare + i];
  return total;
}

}  // namespace coda::row
