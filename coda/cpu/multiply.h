// The micro-kernel: a tile of kRows × (kVectors vectors) accumulators in registers, one unit of the
// contraction at a time.
#pragma once
#include "coda/cpu/kernels.h"
#include "coda/cpu/simd.h"

namespace coda::cpu {

// Multiply::step(accumulator, a, b): accumulator + a·b on units; Multiply::broadcast(p): the unit
// at p in all lanes. kLines: rows of A stand where the caller has them, a_pitch bytes apart; else
// they are packed.
template <Isa kIsa, class Multiply, int kRows, int kVectors, bool kLines>
void multiply_panels(int64_t depth, const void* a, int64_t a_pitch, const uint32_t* b, float* c,
                     int64_t ldc, bool accumulate) {
  constexpr int kLanes = simd::kLanes;
  const simd::FloatTag d;
  simd::FloatVector sum[kRows][kVectors];
  CODA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    CODA_UNROLL
    for (int j = 0; j < kVectors; ++j) sum[i][j] = simd::hn::Zero(d);
  }
  if (accumulate) {  // what is added to was left by the block before, beyond the near caches
    CODA_UNROLL
    for (int i = 0; i < kRows; ++i) {
      CODA_UNROLL
      for (int j = 0; j < kVectors; ++j) __builtin_prefetch(c + i * ldc + j * kLanes, 1);
    }
  }
  const char* line[kRows];
  CODA_UNROLL
  for (int i = 0; i < kRows; ++i)
    line[i] = static_cast<const char*>(a) + i * (kLines ? a_pitch : 4);
  for (int64_t k = 0; k < depth; ++k) {
    typename Multiply::Units right[kVectors];
    CODA_UNROLL
    for (int j = 0; j < kVectors; ++j) right[j] = Multiply::load(b + j * kLanes);
    CODA_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const auto left = Multiply::broadcast(line[i] + k * (kLines ? 4 : 4 * kRows));
      CODA_UNROLL
      for (int j = 0; j < kVectors; ++j) sum[i][j] = Multiply::step(sum[i][j], left, right[j]);
    }
    b += kVectors * kLanes;
  }
  CODA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    CODA_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      float* to = c + i * ldc + j * kLanes;
      if (accumulate) sum[i][j] = simd::hn::Add(simd::hn::LoadU(d, to), sum[i][j]);
      simd::hn::StoreU(sum[i][j], d, to);
    }
  }
}

}  // namespace coda::cpu
