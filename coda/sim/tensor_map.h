// Tensor maps: how boxes of a matrix in global memory are laid out in shared memory.
#pragma once
#include "coda/core/types.h"

namespace coda::sim {

// As large and as aligned as CUDA's. A matrix of rows × columns elements, columns contiguous.
struct alignas(64) TensorMap {
  uint64_t mark = 0;  // set by encode_tensor_map
  uint8_t* base = nullptr;
  uint64_t columns = 0, rows = 0, pitch_bytes = 0;
  uint32_t box_columns = 0, box_rows = 0, element_bytes = 0, swizzle_bytes = 0;
  uint64_t unused[6] = {};

  static constexpr uint64_t kMark = 0x70616d726f736e74;
  uint32_t line_bytes() const { return box_columns * element_bytes; }
  uint32_t box_bytes() const { return line_bytes() * box_rows; }
};
static_assert(sizeof(TensorMap) == 128);

// Checks what cuTensorMapEncodeTiled checks; coda::Error names the argument. swizzle_bytes: 0
// (none), 32, 64 or 128.
void encode_tensor_map(TensorMap& map, uint32_t element_bytes, const void* base, uint64_t columns,
                       uint64_t rows, uint64_t pitch_bytes, uint32_t box_columns, uint32_t box_rows,
                       uint32_t swizzle_bytes);
inline void encode_tensor_map(TensorMap& map, DType type, const void* base, uint64_t columns,
                              uint64_t rows, uint64_t pitch_bytes, uint32_t box_columns,
                              uint32_t box_rows, uint32_t swizzle_bytes) {
  encode_tensor_map(map, static_cast<uint32_t>(dtype_bytes(type)), base, columns, rows, pitch_bytes,
                    box_columns, box_rows, swizzle_bytes);
}

// Where the byte at this shared-memory address of a swizzled box really stands: 16-byte pieces
// change places by the number of the 128-byte line they are in.
inline uint32_t swizzle(uint32_t address, uint32_t swizzle_bytes) {
  const uint32_t mask = swizzle_bytes == 0 ? 0 : swizzle_bytes / 16 - 1;
  return address ^ (((address >> 7) & mask) << 4);
}

}  // namespace coda::sim
