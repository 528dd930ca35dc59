// The two pieces of a GEMM that are written for an instruction set: packing an operand into panels,
// and multiplying panels. A panel holds kWidth rows of an operand along part of the contraction,
// unit by unit: [depth][width] of 32-bit units. A unit is one fp32 value (bf16 and fp16 are
// widened) or, where the processor multiplies bf16 pairs, two consecutive bf16 values.
#pragma once
#include "coda/core/view.h"
#include "coda/cpu/head_runs.h"
#include "coda/cpu/isa.h"

namespace coda::cpu {

// Rows [row, row + rows) by elements [k, k + depth) of one tensor of an operand.
struct PackJob {
  TensorView source;
  int64_t row = 0, rows = 0;
  int64_t k = 0, depth = 0;
  int64_t half = 0;    // of heads, where the rows are those of one half of each
  int64_t offset = 0;  // 0 or half

  int64_t source_row(int64_t n) const {
    return half == 0 ? n : head_column(half, n).among_heads(half) + offset;
  }
};

using Multiply = void(int64_t depth, const void* a, int64_t a_pitch, const uint32_t* b, float* c,
                      int64_t ldc, bool accumulate);

// Half panels of A up to which units of B go from its lines into registers: about half the time for
// one row, and less, on Zen 5, up to as many.
inline constexpr int kFewHalves = 5;

// Rows of A up to which, beyond those, A is packed instead of B.
inline constexpr int64_t kTurnedRows = 256;

struct Kernels {
  int rows, columns;  // of the micro-tile; both divide what a panel buffer is padded to
  int unit;           // contraction elements in a unit
  int padding;        // packed rows are rounded up to a multiple of this
  void (*pack_a)(const PackJob& job, uint32_t* panels);
  void (*pack_b)(const PackJob& job, uint32_t* panels);
  // c [rows, columns] (+)= a [depth, rows]ᵀ · b [depth, columns], depth in units.
  Multiply* multiply;
  // The same with rows of a where they stand in a tensor, a_pitch bytes apart; null where elements
  // are widened.
  Multiply* multiply_lines;
  // c [rows, b.rows] (+)= packed panels of A · rows of b, row-major, where they stand; c has room
  // for whole panels, and for columns up to a multiple of `padding`.
  void (*multiply_few)(const PackJob& b, const uint32_t* a, int64_t rows, float* c, int64_t ldc,
                       bool accumulate);
  // from [columns, this->columns] into to [this->columns, columns]; both have room for columns up
  // to a multiple of `padding`.
  void (*transpose_sums)(const float* from, int64_t from_ld, int64_t columns, float* to,
                         int64_t to_ld);
};

template <Isa kIsa>
const Kernels& widening_kernels(DType type);  // bf16 and fp16 become fp32 while they are packed
const Kernels& bf16_dot_kernels();            // AVX512-BF16

const Kernels& kernels_for(Isa isa, DType type);

}  // namespace coda::cpu
