// What a tensor map is made from, on the GPU and in the simulator. Host only.
#pragma once
#include "coda/core/types.h"

namespace coda::plan {

// A matrix of lines, and the box that TMA moves at a time; rows of a box are swizzled over their
// own width where that is 128, 64 or 32 bytes. Nothing is made of an empty matrix: no tile reads or
// writes it.
struct MapRequest {
  const void* data = nullptr;
  DType type = DType::kBf16;
  int64_t columns = 0, lines = 0, pitch_bytes = 0;
  int box_columns = 0, box_lines = 0;

  constexpr int swizzle_bytes() const {
    const int line = box_columns * static_cast<int>(dtype_bytes(type));
    return line == 128 || line == 64 || line == 32 ? line : 0;
  }
  constexpr bool empty() const { return columns == 0 || lines == 0; }
  // TMA wants a multiple of 16 even where there is one line only, which may have any pitch.
  constexpr int64_t map_pitch() const {
    return lines > 1 ? pitch_bytes : (columns * dtype_bytes(type) + 15) / 16 * 16;
  }
};

}  // namespace coda::plan
