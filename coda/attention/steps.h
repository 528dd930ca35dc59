// The elementwise steps of attention on the CPU, compiled once per instruction set. "Blocks" are
// what attention makes itself, probabilities and their gradients, in the type they are multiplied
// in: bf16 where the processor multiplies pairs of it, else fp32. Host only.
#pragma once
#include "coda/core/view.h"
#include "coda/cpu/isa.h"

namespace coda::attention {

// Rows of queries against a block of keys.
struct SoftmaxRows {
  int64_t rows = 0;
  int64_t first_valid = 0;  // keys that the first row sees; each further one sees one more ...
  int64_t keys = 0;         // ... up to the block's end
  float scale = 0;
  const float* scores = nullptr;  // [rows, keys], whole vectors of them
  int64_t scores_ld = 0;
  void* probabilities = nullptr;  // [rows, keys] of the blocks' type; zero where a row sees nothing
  int64_t probabilities_ld = 0;
  float* max = nullptr;  // [rows], of this and earlier blocks, scaled
  float* sum = nullptr;  // [rows], Σ exp(s - max)
  float* y =
      nullptr;  // [rows, y_columns], rescaled where the maximum rises; null: no earlier block
  int64_t y_columns = 0;
};

// Rows of keys against queries: pᵀ = exp(s - lse), dsᵀ = p·(dp - delta), without the scale.
struct GradientRows {
  int64_t rows = 0, begin = 0, end = 0;  // queries [begin, end), whole vectors of them
  int64_t first_valid = 0;  // the first query that sees the first key; each further one is later
  float scale = 0;
  const float *scores = nullptr, *dp = nullptr;  // [rows, queries] each
  int64_t scores_ld = 0;
  const float *lse = nullptr, *delta = nullptr;  // [queries]
  void *p = nullptr, *ds = nullptr;              // [rows, queries] of the blocks' type
  int64_t blocks_ld = 0;
};

struct Steps {
  // The maximum is at first the least finite number, not -∞, so that exp(max - max) is always 1.
  void (*softmax)(const SoftmaxRows& job);
  void (*gradient)(const GradientRows& job);
  // weights += Σ p and products += Σ p·dp over the rows, [queries] each.
  void (*weigh)(const GradientRows& job, float* weights, float* products);
  // out [rows, columns] of the tensors' type: sums·factor, and sums over a number of each row.
  void (*store_product)(const float* sums, int64_t sums_ld, float factor, const TensorView& out);
  void (*store_quotient)(const float* sums, int64_t sums_ld, const float* divisors,
                         const TensorView& out);
  // to [rows, columns] of the blocks' type, lines without gaps.
  void (*copy)(const TensorView& from, void* to);
  // Σ a·b of every row of two panels [units, columns], added up as micro-kernels do: where a query
  // sees one key alone, delta is dp in every bit.
  void (*panel_dots)(const uint32_t* a, const uint32_t* b, int64_t units, int64_t columns,
                     float* sums);
};

template <cpu::Isa kIsa>
const Steps& steps_of(DType tensors, DType blocks);

}  // namespace coda::attention
