// What a LayerNorm needs of a stream that no operation of ours wrote: the partial moments
// (Σx, Σx²), from which the GEMM that follows finishes the norm's mean and row factor, and x⊙γ,
// which it multiplies. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct LayerNormInputsArguments {
  TensorView x;        // [M, h]; bf16, fp16 or fp32
  TensorView gamma;    // [h], one row; of x's type, or bf16
  TensorView scaled;   // x⊙γ [M, h], of γ's type
  TensorView moments;  // [⌈h/64⌉, M], states of Moments
};

ProgramView validate(const LayerNormInputsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void layer_norm_inputs(const row::LayerNormInputsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void layer_norm_inputs(const row::LayerNormInputsArguments& arguments, CUstream_st* stream);
}
