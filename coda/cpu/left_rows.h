// Rows of the left operand for one block of the contraction: of A, or of B where the two change
// places. Those that are contiguous along it are read where they stand; what is left over of a
// panel, and every other layout, is packed, few rows at a time: beside the panels of the right
// operand they stay in the second-level cache.
#pragma once
#include <algorithm>

#include "coda/cpu/kernels.h"
#include "coda/cpu/touch.h"

namespace coda::cpu {

inline constexpr int64_t kPackedRows = 64;  // at a time: whole panels and vectors of every kernel

class LeftRows {
 public:
  LeftRows(const Kernels& kernels, const PackJob& source, uint32_t* packed)
      : kernels_(kernels), source_(source), packed_(packed) {
    const TensorView& tensor = source.source;
    if (kernels_.multiply_lines != nullptr && tensor.major == Major::kRow &&
        source.depth % kernels_.unit == 0 && source.half % kernels_.rows == 0) {
      in_place_ = source.rows / kernels_.rows * kernels_.rows;
      pitch_ = tensor.ld * tensor.element_bytes;
      first_ = static_cast<const char*>(tensor.data) + source.k * tensor.element_bytes;
    }
  }

  // Before a panel's multiplications; rows ascend.
  void prepare(int64_t row) {
    if (row < in_place_ || row < packed_end_) return;
    packed_begin_ = row;
    packed_end_ = std::min(row + kPackedRows, source_.rows);
    PackJob some = source_;
    some.row += row;
    some.rows = packed_end_ - row;
    kernels_.pack_a(some, packed_);
  }

  // Ahead of a panel that is read where it stands: share `part` of `parts` of its lines to the
  // second-level cache, so that its multiplications do not wait for memory.
  void fetch(int64_t row, int64_t part, int64_t parts) const {
    if (row >= in_place_) return;
    constexpr int64_t kLine = 64;
    const int64_t lines = source_.depth * source_.source.element_bytes / kLine;
    const char* const panel = line_of(row);
    for (int r = 0; r < kernels_.rows; ++r) {
      const char* line = panel + r * pitch_;
      if (part == 0) touch(line);
      for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i)
        __builtin_prefetch(line + i * kLine, 0, 2);
    }
  }

  void multiply(int64_t row, int64_t units, const uint32_t* b, float* c, int64_t ldc,
                bool accumulate) const {
    if (row < in_place_) {
      kernels_.multiply_lines(units, line_of(row), pitch_, b, c, ldc, accumulate);
    } else {
      kernels_.multiply(units, packed_ + (row - packed_begin_) * units, 0, b, c, ldc, accumulate);
    }
  }

 private:
  // The lines of its panel follow it: halves of heads end where panels do.
  const char* line_of(int64_t row) const {
    return first_ + source_.source_row(source_.row + row) * pitch_;
  }

  const Kernels& kernels_;
  const PackJob source_;
  uint32_t* const packed_;
  int64_t packed_begin_ = 0, packed_end_ = 0;
  const char* first_ = nullptr;
  int64_t pitch_ = 0, in_place_ = 0;  // bytes from row to row; how many rows
};

}  // namespace coda::cpu
