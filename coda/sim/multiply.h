// The arithmetic of wgmma: operands through their descriptors, fp32 accumulation.
#pragma once
#include <span>

#include "coda/sim/product.h"
#include "coda/sim/shared_memory.h"

namespace coda::sim {

// Appends the addresses of the 16-byte pieces of an operand of `rows` × 16, as the layouts with
// 128-byte swizzle place them. Contraction contiguous: two per row. Rows contiguous: one per
// contraction step and 8 rows.
void operand_pieces(uint64_t descriptor, uint32_t rows, bool rows_contiguous,
                    std::vector<uint32_t>& pieces);

// tile [64, columns] (+)= a [64, 16] · b [columns, 16]ᵀ
void multiply(SharedMemory& memory, const ProductShape& shape, std::span<float> tile);

// Element i of a thread's registers in the tile: thread of the warpgroup, i < columns / 2.
inline uint32_t tile_index(uint32_t thread, uint32_t i, uint32_t columns) {
  const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2) * 8;
  return row * columns + i / 4 * 8 + thread % 4 * 2 + i % 2;
}

}  // namespace coda::sim
