// W' = W diag(γ): a norm's weight folded into the linear layer behind it, once per weight update.
// Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct FoldNormWeightArguments {
  TensorView weight;  // [N, K]; bf16, fp16 or fp32
  TensorView gamma;   // [K], one row, of the same type
  TensorView out;     // [N, K], of the same type; may be `weight` itself
};

// Throws coda::Error; else the tensors.
ProgramView validate(const FoldNormWeightArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void fold_norm_weight(const row::FoldNormWeightArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void fold_norm_weight(const row::FoldNormWeightArguments& arguments, CUstream_st* stream);
}
