// x = E[token] + P[position]: an embedding with learned positions. Host only.
// A token or position out of range: on the CPU an error before anything is written; on the GPU its
// row is NaN and the error flag is set.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct EmbeddingPositionsArguments {
  TensorView table;                      // E [V, h]; bf16, fp16 or fp32
  TensorView tokens;                     // [M], one row; int32 or int64
  TensorView positions_table;            // P [positions, h], of E's type
  TensorView positions;                  // [M], one row, of the tokens' type
  TensorView out;                        // x [M, h]; of E's type, or fp32
  std::optional<TensorView> error = {};  // [1], int32; set to 1, else left alone (GPU)
};

ProgramView validate(const EmbeddingPositionsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void embedding_positions(const row::EmbeddingPositionsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void embedding_positions(const row::EmbeddingPositionsArguments& arguments, CUstream_st* stream);
}
