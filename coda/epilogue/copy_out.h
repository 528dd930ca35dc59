// Outputs whose lines TMA cannot cut off: it would write beyond their last column.
#pragma once
#include "coda/epilogue/thread.h"
#include "coda/program/ports.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// The slab element by element, by all lanes.
template <class K, class P>
CODA_DEVICE void copy_out(const P& port, const EpilogueThread& thread, uint32_t slab, int row,
                          int column) {
  using T = typename P::Element;
  constexpr uint32_t kLine = K::kSubColumns * sizeof(T);
  const auto& view = port.view[P::kSegments > 1 ? thread.segment : 0];
  const int64_t first_row = P::kSegments > 1 ? 0 : thread.row_origin;
  const int64_t first_column = P::kSegments > 1 ? 0 : thread.column_origin;
  CODA_NO_UNROLL
  for (uint32_t i = thread.lane; i < 16 * K::kSubColumns; i += 32) {
    const uint32_t line = i / K::kSubColumns, byte = i % K::kSubColumns * sizeof(T);
    const int m = row + static_cast<int>(line), n = column + static_cast<int>(i % K::kSubColumns);
    const uint32_t from =
        slab + line * kLine + ((byte / 16 ^ swizzle<kLine>(line)) << 4) + byte % 16;
    const uint32_t word = hw::load_shared(from & ~3u);
    if (m >= thread.rows_end || n >= thread.columns_end) continue;
    T* to = view.data + (first_row + m) * view.ld + first_column + n;
    if constexpr (sizeof(T) == 2) {
      *to = T{static_cast<uint16_t>(word >> (from & 2) * 8)};
    } else {
      *to = stdlib::bit_cast<float>(word);
    }
  }
  // Before lane 0 gives the set back; an owed one is given back after ship's last warp_sync.
  if constexpr (K::kInPlace && !K::kOwesLast) hw::warp_sync();
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
