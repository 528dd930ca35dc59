// Rows of a table in the fragment layout, straight from global memory.
#pragma once
#include "coda/epilogue/hardware.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// For this lane's two rows, the columns from `column` on; neighbours are read as one word. A row
// that the table does not have is NaN.
template <class T, int kLanes>
CODA_DEVICE void read_table(const Matrix<const T>& table, const int32_t (&rows)[2], int column,
                            uint32_t lane, float (&value)[kLanes]) {
  static_assert(sizeof(T) == 2, "coda: tables hold bf16 or fp16 on the GPU");
  constexpr uint32_t kNans = stdlib::is_same_v<T, bf16> ? 0x7fc07fc0u : 0x7e007e00u;
  column += 2 * static_cast<int>(lane & 3);
  CODA_UNROLL
  for (int n = 0; n < kLanes; n += 2) {
    const int32_t row = rows[n / 2 % 2];
    const uint64_t ahead = static_cast<uint64_t>(row * table.ld + column + n / 4 * 8) * sizeof(T);
    const uint64_t from = reinterpret_cast<uint64_t>(table.data) + ahead;
    const uint32_t word = hw::load_global_if(row >= 0 && row < table.rows, from, kNans);
    hw::template unpack<T>(word, value[n], value[n + 1]);
  }
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
