// Few rows of A: dot products with lines of B where they stand. B, which is read once then, is not
// packed first; both operands are contiguous along the contraction.
#pragma once
#include <cstring>

#include "coda/cpu/kernels.h"
#include "coda/cpu/simd.h"
#include "coda/cpu/touch.h"

namespace coda::cpu {

// Lines::load(p): kElements elements of a line; Lines::step(sum, a, b): sum + products of such.
template <Isa kIsa, class Lines>
struct FewRows {
  using Element = typename Lines::Element;
  static constexpr int kElements = Lines::kElements;
  // Of A and of B at a time: a load of either serves several products.
  static constexpr int kRows = kThisIsa == Isa::kAvx512 ? 4 : 2, kColumns = 4;

  static void multiply(const PackJob& a, const PackJob& b, float* c, int64_t ldc, bool accumulate) {
    const Element* right[kColumns];
    for (int64_t column = 0; column < b.rows; column += kColumns) {
      // The last line stands in for those beyond it, whose columns nobody reads.
      for (int j = 0; j < kColumns; ++j)
        right[j] = line(b, column + j < b.rows ? column + j : b.rows - 1);
      // The lines after these are on their way meanwhile.
      const int64_t ahead =
          b.half == 0 && column + 2 * kColumns <= b.rows ? kColumns * b.source.ld : 0;
      for (int j = 0; j < kColumns; ++j) touch(right[j] + ahead);
      for (int64_t row = 0; row < a.rows; row += kRows)
        dots<kRows>(a, row, right, ahead, c + row * ldc + column, ldc, accumulate);
    }
  }

 private:
  template <int kCount>
  using Sums = simd::FloatVector[kCount][kColumns];

  static const Element* line(const PackJob& job, int64_t row) {
    return static_cast<const Element*>(job.source.data) +
           job.source_row(job.row + row) * job.source.ld + job.k;
  }

  template <int kCount>
  static HWY_INLINE void step(const Element* const* left, const Element* const* right, int64_t k,
                              int64_t ahead, Sums<kCount>& sum) {
    typename Lines::Units first[kCount];
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) first[i] = Lines::load(left[i] + k);
    CODA_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const auto second = Lines::load(right[j] + k);
      __builtin_prefetch(right[j] + k + ahead, 0, 2);
      CODA_UNROLL
      for (int i = 0; i < kCount; ++i) sum[i][j] = Lines::step(sum[i][j], first[i], second);
    }
  }

  // Rows [row, row + kCount), or those that are left.
  template <int kCount>
  static HWY_INLINE void dots(const PackJob& a, int64_t row, const Element* const* right,
                              int64_t ahead, float* c, int64_t ldc, bool accumulate) {
    if constexpr (kCount > 1) {
      if (a.rows - row < kCount) return dots<kCount - 1>(a, row, right, ahead, c, ldc, accumulate);
    }
    const Element* left[kCount];
    for (int i = 0; i < kCount; ++i) left[i] = line(a, row + i);
    Sums<kCount> sum;
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      CODA_UNROLL
      for (int j = 0; j < kColumns; ++j) sum[i][j] = simd::hn::Zero(simd::FloatTag());
    }
    const int64_t whole = a.depth / kElements * kElements;
    for (int64_t k = 0; k < whole; k += kElements) step<kCount>(left, right, k, ahead, sum);
    if (const int64_t rest = a.depth - whole; rest > 0) {
      Element ends[kCount + kColumns][kElements] = {};
      const Element* end[kCount + kColumns];
      for (int i = 0; i < kCount + kColumns; ++i) {
        std::memcpy(ends[i], (i < kCount ? left[i] : right[i - kCount]) + whole,
                    sizeof(Element) * static_cast<size_t>(rest));
        end[i] = ends[i];
      }
      step<kCount>(end, end + kCount, 0, 0, sum);
    }
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      CODA_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const float value = simd::hn::GetLane(simd::hn::SumOfLanes(simd::FloatTag(), sum[i][j]));
        float& to = c[i * ldc + j];
        to = accumulate ? to + value : value;
      }
    }
  }
};

}  // namespace coda::cpu
