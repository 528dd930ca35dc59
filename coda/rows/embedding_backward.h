// dE[token] += dx, row by row, in a fixed order: a token's rows are added up in fp32, from the
// first to the last, and rounded once. Host only.
// A token out of range: on the CPU an error before anything is written; on the GPU its row is left
// out and the error flag is set.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct EmbeddingBackwardArguments {
  TensorView dx;            // [M, h]; bf16, fp16 or fp32
  TensorView tokens;        // [M], one row; int32 or int64
  TensorView out;           // dE [V, h]; fp32 or bf16
  bool accumulate = false;  // added to what is in out; else rows of no token become zero
  std::optional<TensorView> error = {};  // [1], int32; set to 1, else left alone (GPU)
  // On the GPU: memory of embedding_backward_workspace_bytes(), aligned to 256 bytes.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

ProgramView validate(const EmbeddingBackwardArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void embedding_backward(const row::EmbeddingBackwardArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
int64_t embedding_backward_workspace_bytes(const row::EmbeddingBackwardArguments& arguments);
void embedding_backward(const row::EmbeddingBackwardArguments& arguments, CUstream_st* stream);
}  // namespace coda::cuda
