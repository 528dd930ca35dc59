// LayerNorm as it is: out = (x − μ)·r⊙γ + β, μ and r = (variance + ε)^-½ of every row. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct LayerNormArguments {
  TensorView x;                            // [M, h]; bf16, fp16 or fp32
  TensorView gamma, beta;                  // [h] each, one row; of x's type, or bf16
  TensorView out;                          // [M, h], of γ's type
  double epsilon = 0;                      // ε
  std::optional<TensorView> moments = {};  // [⌈h/64⌉, M], states of Moments: (Σx, Σx²)
};

ProgramView validate(const LayerNormArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void layer_norm(const row::LayerNormArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void layer_norm(const row::LayerNormArguments& arguments, CUstream_st* stream);
}
