// A warp's 16 lines of a tile port's buffer in shared memory, kSubColumns wide and swizzled as TMA
// does, in the fragment layout: columns kFirst to kFirst + kWidth of them.
#pragma once
#include "coda/epilogue/thread.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

template <class T, int kSubColumns, int kFirst, int kWidth>
struct Slab {
  static constexpr int kLine = kSubColumns * sizeof(T);
  uint32_t buffer, warp, lane;
  uint32_t matrix_line;  // of the lane, where elements have two bytes

  CODA_DEVICE void store(const float (&value)[kWidth / 2]) const {
    if constexpr (sizeof(T) == 2) {
      CODA_UNROLL
      for (int i = 0; i < kWidth / 16; ++i) {
        uint32_t word[4];  // (j, h) of two groups of eight columns
        CODA_UNROLL
        for (int x = 0; x < 4; ++x) word[x] = packed(value, 4 * i + x);
        hw::store_matrix_x4(matrix(i), word);
      }
      if constexpr (kWidth % 16 != 0) {  // eight more columns
        const uint32_t word[2] = {packed(value, kWidth / 4 - 2), packed(value, kWidth / 4 - 1)};
        hw::store_matrix_x2(matrix(kWidth / 16), word);
      }
    } else {
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; n += 2) {
        hw::store_shared_x2(pair(n), stdlib::bit_cast<uint32_t>(value[n]),
                            stdlib::bit_cast<uint32_t>(value[n + 1]));
      }
    }
  }

  CODA_DEVICE void load(float (&value)[kWidth / 2]) const {
    if constexpr (sizeof(T) == 2) {
      CODA_UNROLL
      for (int i = 0; i < kWidth / 16; ++i) {
        uint32_t word[4];
        hw::load_matrix_x4(matrix(i), word);
        CODA_UNROLL
        for (int x = 0; x < 4; ++x) {
          hw::template unpack<T>(word[x], value[8 * i + 2 * x], value[8 * i + 2 * x + 1]);
        }
      }
      if constexpr (kWidth % 16 != 0) {
        uint32_t word[2];
        hw::load_matrix_x2(matrix(kWidth / 16), word);
        hw::template unpack<T>(word[0], value[kWidth / 2 - 4], value[kWidth / 2 - 3]);
        hw::template unpack<T>(word[1], value[kWidth / 2 - 2], value[kWidth / 2 - 1]);
      }
    } else {
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; n += 2) {
        uint32_t a, b;
        hw::load_shared_x2(pair(n), a, b);
        value[n] = stdlib::bit_cast<float>(a);
        value[n + 1] = stdlib::bit_cast<float>(b);
      }
    }
  }

 private:
  // The i-th pair of neighbours as a word.
  static CODA_DEVICE uint32_t packed(const float (&value)[kWidth / 2], int i) {
    return hw::template pack<T>(value[2 * i], value[2 * i + 1]);
  }
  // Columns from 16i on: sixteen for load_matrix_x4 and store_matrix_x4, eight for those of two.
  CODA_DEVICE uint32_t matrix(int i) const {
    return buffer + along_line<kLine>(matrix_line, static_cast<uint32_t>((kFirst + 16 * i) * 2));
  }
  // The two floats of lanes n and n + 1 (n even) in lines of 32 floats.
  CODA_DEVICE uint32_t pair(int n) const {
    static_assert(kLine == 128);
    const uint32_t line = (lane >> 2) + static_cast<uint32_t>(n / 2 % 2) * 8;
    const uint32_t column = static_cast<uint32_t>(kFirst + n / 4 * 8) + 2 * (lane & 3);
    return buffer + (warp * 16 + line) * kLine + ((column / 4 ^ swizzle<kLine>(line)) << 4) +
           column % 4 * 4;
  }
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
