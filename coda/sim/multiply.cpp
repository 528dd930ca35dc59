#include "coda/sim/multiply.h"

#include <cstring>

#include "coda/core/types.h"
#include "coda/sim/tensor_map.h"

namespace coda::sim {

namespace {

constexpr uint32_t kDepth = 16;

struct Layout {
  uint32_t start, leading, stride;
  explicit Layout(uint64_t descriptor)
      : start(static_cast<uint32_t>(descriptor & 0x3fff) << 4),
        leading(static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4) {}
};

float convert(uint16_t bits, ElementType type) {
  return type == ElementType::kBf16 ? to_float(bf16{bits}) : to_float(fp16{bits});
}

// operand[k][row]
void gather(SharedMemory& memory, uint64_t descriptor, uint32_t rows, bool rows_contiguous,
            ElementType type, float* operand) {
  std::vector<uint32_t> pieces;
  operand_pieces(descriptor, rows, rows_contiguous, pieces);
  uint16_t values[8];
  for (uint32_t p = 0; p < pieces.size(); ++p) {
    std::memcpy(values, memory.at(pieces[p]), 16);
    for (uint32_t i = 0; i < 8; ++i) {
      const float value = convert(values[i], type);
      if (rows_contiguous) {
        operand[(p % kDepth) * rows + p / kDepth * 8 + i] = value;
      } else {
        operand[(p % 2 * 8 + i) * rows + p / 2] = value;
      }
    }
  }
}

}  // namespace

void operand_pieces(uint64_t descriptor, uint32_t rows, bool rows_contiguous,
                    std::vector<uint32_t>& pieces) {
  const Layout layout(descriptor);
  const auto add = [&](uint32_t offset) { pieces.push_back(swizzle(layout.start + offset, 128)); };
  if (rows_contiguous) {
    for (uint32_t row = 0; row < rows; row += 8) {
      for (uint32_t k = 0; k < kDepth; ++k) {
        add(row / 8 % 8 * 16 + row / 64 * layout.leading + k % 8 * 128 + k / 8 * layout.stride);
      }
    }
  } else {
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t half = 0; half < 2; ++half) {
        add(row % 8 * 128 + row / 8 * layout.stride + half * 16);
      }
    }
  }
}

void multiply(SharedMemory& memory, const ProductShape& shape, std::span<float> tile) {
  const uint32_t columns = shape.columns;
  float a[kDepth * 64], b[kDepth * 256];
  gather(memory, shape.a, 64, shape.rows_contiguous_a, shape.type, a);
  gather(memory, shape.b, columns, shape.rows_contiguous_b, shape.type, b);
  for (uint32_t row = 0; row < 64; ++row) {
    float* d = &tile[row * columns];
    if (!shape.accumulate) std::memset(d, 0, columns * sizeof(float));
    for (uint32_t k = 0; k < kDepth; ++k) {
      const float factor = a[k * 64 + row];
      const float* line = &b[k * columns];
      for (uint32_t j = 0; j < columns; ++j) d[j] += factor * line[j];
    }
  }
}

}  // namespace coda::sim
