// A warp's 16 lines of a tile port in shared memory, kSubColumns wide and swizzled as TMA does, in
// the fragment layout: columns kFirst to kFirst + kWidth of them.
#pragma once
#include "coda/epilogue/thread.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

template <class T, int kSubColumns, int kFirst, int kWidth>
struct Slab {
  static constexpr int kLine = kSubColumns * sizeof(T);
  static constexpr bool kSwizzled = kLine == 128 || kLine == 64 || kLine == 32;
  uint32_t begin, lane;

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
        static_assert(!kSwizzled);
        const uint32_t to =
            begin + (lane >> 2) * kLine + (kFirst + kWidth - 8) * 2 + (lane & 3) * 4;
        hw::store_shared(to, packed(value, kWidth / 4 - 2));
        hw::store_shared(to + 8 * kLine, packed(value, kWidth / 4 - 1));
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
      static_assert(kWidth % 16 == 0,
                    "coda: inputs over elements travel in multiples of 16 columns");
      CODA_UNROLL
      for (int i = 0; i < kWidth / 16; ++i) {
        uint32_t word[4];
        hw::load_matrix_x4(matrix(i), word);
        CODA_UNROLL
        for (int x = 0; x < 4; ++x) {
          hw::template unpack<T>(word[x], value[8 * i + 2 * x], value[8 * i + 2 * x + 1]);
        }
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
  // Sixteen columns from 16i on, for load_matrix_x4 and store_matrix_x4.
  CODA_DEVICE uint32_t matrix(int i) const {
    return matrix_address<kLine>(begin, lane, static_cast<uint32_t>((kFirst + 16 * i) * 2));
  }
  // The two floats of lanes n and n + 1 (n even) in lines of 32 floats.
  CODA_DEVICE uint32_t pair(int n) const {
    static_assert(kLine == 128);
    const uint32_t line = (lane >> 2) + static_cast<uint32_t>(n / 2 % 2) * 8;
    const uint32_t column = static_cast<uint32_t>(kFirst + n / 4 * 8) + 2 * (lane & 3);
    return begin + line * kLine + ((column / 4 ^ swizzle<kLine>(line)) << 4) + column % 4 * 4;
  }
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
