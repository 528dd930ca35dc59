// x = E[token], the partial sums of x², from which the GEMM that follows finishes RMSNorm's row
// factor, and with a kept norm weight also x⊙γ. Host only.
// A token out of range: on the CPU an error before anything is written; on the GPU its row is NaN
// and the error flag is set.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct EmbeddingNormArguments {
  TensorView table;                       // E [V, h]; bf16, fp16 or fp32
  TensorView tokens;                      // [M], one row; int32 or int64
  TensorView out;                         // x [M, h]; of E's type, or fp32
  TensorView squares;                     // [⌈h/64⌉, M], fp32
  std::optional<TensorView> gamma = {};   // [h], one row, of E's type: with it
  std::optional<TensorView> scaled = {};  // x⊙γ [M, h], of E's type
  std::optional<TensorView> error = {};   // [1], int32; set to 1, else left alone (GPU)
};

ProgramView validate(const EmbeddingNormArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void embedding_norm(const row::EmbeddingNormArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void embedding_norm(const row::EmbeddingNormArguments& arguments, CUstream_st* stream);
}
