// Back through a LayerNorm as it is and the residual stream beside it, from dy, the gradient of
// what it gave. With x̂ = (x − μ)·r and g = dy⊙γ:
//   dx = dx_in + r·(g − Σg/h − x̂·Σ(g·x̂)/h), dγ = Σ dy·x̂ and dβ = Σ dy over the rows. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct LayerNormBackwardArguments {
  TensorView dy;                            // [M, h]: bf16, fp16 or fp32
  TensorView x;                             // [M, h]: the stream, of dy's type or fp32
  TensorView gamma;                         // [h], one row, of dy's type
  TensorView dx;                            // [M, h], of x's type; may be dx_in or dy itself
  TensorView dgamma, dbeta;                 // [⌈M/64⌉, h] each, fp32: partials
  double epsilon = 0;                       // ε of the norm
  std::optional<TensorView> dx_in = {};     // [M, h], of x's type: along the stream
  std::optional<TensorView> dcolumns = {};  // [⌈M/64⌉, h], fp32: partials of Σ dx
};

ProgramView validate(const LayerNormBackwardArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void layer_norm_backward(const row::LayerNormBackwardArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void layer_norm_backward(const row::LayerNormBackwardArguments& arguments, CUstream_st* stream);
}
