// out = factor·gradient, rounded once: gradients that were made before the one that comes in was
// known. The factor stays on the device. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct ScaleGradientArguments {
  TensorView gradient;  // [N, K]; bf16 or fp32
  TensorView factor;    // [1], fp32
  TensorView out;       // [N, K]; of the gradient's type, or bf16. May be `gradient` itself
};

// Throws coda::Error; else the tensors.
ProgramView validate(const ScaleGradientArguments& arguments);

// f.template operator()<From, To>() for the types of tensors that have been checked.
template <class F>
void with_types_of(const ScaleGradientArguments& arguments, F&& f) {
  if (arguments.gradient.dtype == DType::kBf16) return f.template operator()<bf16, bf16>();
  if (arguments.out.dtype == DType::kBf16) return f.template operator()<float, bf16>();
  f.template operator()<float, float>();
}

}  // namespace coda::row

namespace coda::cpu {
void scale_gradient(const row::ScaleGradientArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void scale_gradient(const row::ScaleGradientArguments& arguments, CUstream_st* stream);
}
