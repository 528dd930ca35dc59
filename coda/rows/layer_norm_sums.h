// What the gradient of a LayerNorm needs of dz, the gradient of a linear layer behind it, where no
// GEMM of ours made dz (attention gave it): Σ dz·(z − offset − bias) and Σ dz·shift of every row,
// and the bias's gradient. shift and offset as in linear_activation. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct LayerNormSumsArguments {
  TensorView dz, z;                      // [M, N] each; bf16 or fp32
  TensorView shift, offset;              // [N] each, one row, fp32
  TensorView dots, shifts;               // [⌈N/64⌉, M] each, fp32
  std::optional<TensorView> bias = {};   // [N], one row, of z's type
  std::optional<TensorView> dbias = {};  // [⌈M/64⌉, N], fp32: partials of Σ dz
};

ProgramView validate(const LayerNormSumsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void layer_norm_sums(const row::LayerNormSumsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void layer_norm_sums(const row::LayerNormSumsArguments& arguments, CUstream_st* stream);
}
