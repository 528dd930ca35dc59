// Squares of 32-bit units, transposed in registers.
#pragma once
#include "coda/cpu/simd.h"

namespace coda::cpu {
namespace simd {

// 4 × 4 units within the 128-bit blocks of four vectors first, then the blocks.
HWY_INLINE void transpose(hn::Vec<BitsTag> (&v)[kLanes]) {
  using Bits = hn::Vec<BitsTag>;
  const BitsTag d;
  const hn::ScalableTag<uint64_t> d64;
  const auto wide = [&](Bits x) { return hn::BitCast(d64, x); };
  CODA_UNROLL
  for (int i = 0; i < kLanes; i += 4) {
    const auto low01 = wide(hn::InterleaveLower(d, v[i], v[i + 1])),
               low23 = wide(hn::InterleaveLower(d, v[i + 2], v[i + 3]));
    const auto high01 = wide(hn::InterleaveUpper(d, v[i], v[i + 1])),
               high23 = wide(hn::InterleaveUpper(d, v[i + 2], v[i + 3]));
    v[i] = hn::BitCast(d, hn::InterleaveLower(d64, low01, low23));
    v[i + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23));
    v[i + 2] = hn::BitCast(d, hn::InterleaveLower(d64, high01, high23));
    v[i + 3] = hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23));
  }
  if constexpr (kLanes == 8) {
    CODA_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Bits low = hn::ConcatLowerLower(d, v[i + 4], v[i]);
      v[i + 4] = hn::ConcatUpperUpper(d, v[i + 4], v[i]);
      v[i] = low;
    }
  }
  if constexpr (kLanes == 16) {
    CODA_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Bits low02 = hn::ConcatLowerLower(d, v[i + 8], v[i]),
                 high02 = hn::ConcatUpperUpper(d, v[i + 8], v[i]);
      const Bits low13 = hn::ConcatLowerLower(d, v[i + 12], v[i + 4]),
                 high13 = hn::ConcatUpperUpper(d, v[i + 12], v[i + 4]);
      v[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
      v[i + 4] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
      v[i + 8] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
      v[i + 12] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
    }
  }
  static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);
}

}  // namespace simd

// Sums that were made with the operands in each other's place, from[columns][rows], into
// to[rows][columns], where both have room for whole vectors. kRows: a multiple of a vector's lanes;
// Multiply: the file's own, so that no other's instructions come in its place.
template <class Multiply, int kRows>
void transpose_sums(const float* from, int64_t from_ld, int64_t columns, float* to, int64_t to_ld) {
  constexpr int kLanes = simd::kLanes;
  const simd::FloatTag d;
  for (int64_t column = 0; column < columns; column += kLanes) {
    for (int row = 0; row < kRows; row += kLanes) {
      simd::hn::Vec<simd::BitsTag> square[kLanes];
      CODA_UNROLL
      for (int i = 0; i < kLanes; ++i) {
        square[i] = simd::hn::BitCast(simd::BitsTag(),
                                      simd::hn::LoadU(d, from + (column + i) * from_ld + row));
      }
      simd::transpose(square);
      CODA_UNROLL
      for (int i = 0; i < kLanes; ++i)
        simd::hn::StoreU(simd::hn::BitCast(d, square[i]), d, to + (row + i) * to_ld + column);
    }
  }
}

}  // namespace coda::cpu
