#include "coda/sim/tensor_map.h"

#include <fmt/format.h>

#include "coda/core/error.h"

namespace coda::sim {

void encode_tensor_map(TensorMap& map, uint32_t element_bytes, const void* base, uint64_t columns,
                       uint64_t rows, uint64_t pitch_bytes, uint32_t box_columns, uint32_t box_rows,
                       uint32_t swizzle_bytes) {
  const auto require = [](bool holds, const char* argument, const char* expected, uint64_t got) {
    if (!holds) fail_argument("encode_tensor_map", argument, expected, fmt::format("{}", got));
  };
  constexpr uint64_t kMaxSize = uint64_t{1} << 32;
  const auto address = reinterpret_cast<uintptr_t>(base);
  require(element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8,
          "element_bytes", "1, 2, 4 or 8", element_bytes);
  require(base != nullptr && address % 16 == 0, "base", "an address divisible by 16", address);
  require(columns >= 1 && columns <= kMaxSize, "columns", "1 to 2^32", columns);
  require(rows >= 1 && rows <= kMaxSize, "rows", "1 to 2^32", rows);
  require(pitch_bytes % 16 == 0, "pitch_bytes", "a multiple of 16", pitch_bytes);
  require(pitch_bytes < (uint64_t{1} << 40), "pitch_bytes", "less than 2^40", pitch_bytes);
  require(pitch_bytes >= columns * element_bytes, "pitch_bytes", "at least a row", pitch_bytes);
  require(box_columns >= 1 && box_columns <= 256, "box_columns", "1 to 256", box_columns);
  require(box_rows >= 1 && box_rows <= 256, "box_rows", "1 to 256", box_rows);
  require(swizzle_bytes == 0 || swizzle_bytes == 32 || swizzle_bytes == 64 || swizzle_bytes == 128,
          "swizzle_bytes", "0, 32, 64 or 128", swizzle_bytes);
  const uint32_t line = box_columns * element_bytes;
  require(line % 16 == 0, "box_columns", "a multiple of 16 bytes", line);
  require(swizzle_bytes == 0 || line <= swizzle_bytes, "box_columns",
          "at most as many bytes as the swizzle spans", line);
  map = {};
  map.mark = TensorMap::kMark;
  map.base = static_cast<uint8_t*>(const_cast<void*>(base));
  map.columns = columns;
  map.rows = rows;
  map.pitch_bytes = pitch_bytes;
  map.box_columns = box_columns;
  map.box_rows = box_rows;
  map.element_bytes = element_bytes;
  map.swizzle_bytes = swizzle_bytes;
}

}  // namespace coda::sim
