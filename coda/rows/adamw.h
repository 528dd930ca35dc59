// One step of AdamW on a parameter and its moments, and with it the parameter as the next step's
// GEMMs read it: rounded, and with a norm's weight folded in. Host only.
//   g = clip·gradient, m = β1·m + (1−β1)·g, v = β2·v + (1−β2)·g²
//   master = master·(1 − lr·decay) − lr·c1·m / (√(c2·v) + ε), c1 = 1/(1−β1ᵗ), c2 = 1/(1−β2ᵗ)
// A clip that is infinite or NaN leaves every tensor as it is: what made it so must not reach them.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct AdamwArguments {
  TensorView master, m, v;                // [N, K] each, fp32; read and written
  TensorView gradient;                    // [N, K], fp32
  TensorView rates;                       // [3], one row, fp32: lr, c1, c2
  std::optional<TensorView> clip = {};    // [1], fp32; else 1
  std::optional<TensorView> weight = {};  // master rounded [N, K]; bf16 or fp32
  std::optional<TensorView> gamma = {};   // [K], one row, of weight's type: with it
  std::optional<TensorView> folded = {};  // weight⊙γ [N, K], of weight's type
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0;
};

ProgramView validate(const AdamwArguments& arguments);

// What the elements of a tensor are made with, in fp32.
struct AdamwFactors {
  float beta1, rest1, beta2, rest2, epsilon, decay;  // rest = 1 − β
  explicit AdamwFactors(const AdamwArguments& a)
      : beta1(static_cast<float>(a.beta1)),
        rest1(static_cast<float>(1 - a.beta1)),
        beta2(static_cast<float>(a.beta2)),
        rest2(static_cast<float>(1 - a.beta2)),
        epsilon(static_cast<float>(a.epsilon)),
        decay(static_cast<float>(a.decay)) {}
};

// The type that weight, gamma and folded have.
inline DType weight_type(const AdamwArguments& a) {
  return a.weight ? a.weight->dtype : a.folded ? a.folded->dtype : DType::kFp32;
}

}  // namespace coda::row

namespace coda::cpu {
void adamw(const row::AdamwArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void adamw(const row::AdamwArguments& arguments, CUstream_st* stream);
}
