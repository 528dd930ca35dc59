// What an RMSNorm needs of a stream that no operation of ours wrote: the partial sums of x², from
// which the GEMM that follows finishes the norm's row factor, and x⊙γ, which it multiplies. Host
// only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct NormInputsArguments {
  TensorView x;                           // [M, h]; bf16, fp16 or fp32
  TensorView squares;                     // [⌈h/64⌉, M], fp32
  std::optional<TensorView> gamma = {};   // [h], one row; of x's type, or bf16: with it
  std::optional<TensorView> scaled = {};  // x⊙γ [M, h], of γ's type
};

ProgramView validate(const NormInputsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void norm_inputs(const row::NormInputsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void norm_inputs(const row::NormInputsArguments& arguments, CUstream_st* stream);
}
