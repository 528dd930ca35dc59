// Few rows of A: units of B are multiplied as soon as they are transposed, in registers, instead of
// being written to panels and read again. Additions have the order that they have there.
#pragma once
#include "coda/cpu/pack.h"

namespace coda::cpu {

// kPanel: rows of a panel of A.
template <Isa kIsa, class T, bool kPairs, class Multiply, int kPanel>
struct FewRows {
  using Lines = Packer<kIsa, T, kPairs, simd::kLanes>;

  static void multiply(const PackJob& b, const uint32_t* a, int64_t rows, float* c, int64_t ldc,
                       bool accumulate) {
    for (int64_t column = 0; column < b.rows; column += simd::kLanes)
      multiply_lines<kFewHalves * kPanel / 2>(b, column, a, rows, c + column, ldc, accumulate);
  }

 private:
  template <int kRows>
  struct Sums {
    static constexpr int kTogether = kRows < kPanel / 2 ? kRows : kPanel / 2;
    const uint32_t* a;
    int64_t units;
    simd::FloatVector sum[kRows];

    // Few sums at a time fit into registers beside the units of B.
    template <int kCount>
    HWY_INLINE void add(int64_t u, const typename Lines::Bits (&v)[simd::kLanes]) {
      CODA_UNROLL
      for (int row = 0; row < kRows; row += kTogether) {
        const uint32_t* left = a + row / kPanel * kPanel * units + u * kPanel + row % kPanel;
        CODA_UNROLL
        for (int j = 0; j < kCount; ++j) {
          CODA_UNROLL
          for (int i = 0; i < kTogether; ++i) {
            sum[row + i] = Multiply::step(sum[row + i], Multiply::broadcast(left + j * kPanel + i),
                                          Multiply::as_units(v[j]));
          }
        }
      }
    }
    HWY_INLINE void take(int64_t u, const typename Lines::Bits (&v)[simd::kLanes]) {
      add<simd::kLanes>(u, v);
    }
    HWY_INLINE void take_first(int64_t count, int64_t u,
                               const typename Lines::Bits (&v)[simd::kLanes]) {
      for (int64_t j = 0; j < count; ++j) {
        const typename Lines::Bits one[simd::kLanes] = {v[j]};
        add<1>(u + j, one);
      }
    }
  };

  // The first kRows rows, or fewer where that will do.
  template <int kRows>
  static HWY_INLINE void multiply_lines(const PackJob& b, int64_t column, const uint32_t* a,
                                        int64_t rows, float* c, int64_t ldc, bool accumulate) {
    if constexpr (kRows > 1) {
      constexpr int kFewer = kRows > kPanel ? kRows - kPanel / 2 : kRows / 2;
      if (rows <= kFewer) return multiply_lines<kFewer>(b, column, a, rows, c, ldc, accumulate);
    }
    const simd::FloatTag d;
    const int64_t units = (b.depth + Lines::kUnit - 1) / Lines::kUnit;
    Sums<kRows> sums;
    sums.a = a;
    sums.units = units;
    CODA_UNROLL
    for (int i = 0; i < kRows; ++i) sums.sum[i] = simd::hn::Zero(d);
    Lines::transpose_lines(b, column, units, sums);
    CODA_UNROLL
    for (int i = 0; i < kRows; ++i) {
      float* const to = c + i * ldc;
      if (accumulate) sums.sum[i] = simd::hn::Add(simd::hn::LoadU(d, to), sums.sum[i]);
      simd::hn::StoreU(sums.sum[i], d, to);
    }
  }
};

}  // namespace coda::cpu
