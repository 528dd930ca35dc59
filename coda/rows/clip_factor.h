// The norm of a gradient from all partial sums of its squares, and the factor that clips it:
//   norm = √(Σ squares), factor = min(1, max_norm / (norm + 1e-6))
// added up in fp64 in a fixed order, each rounded once. A norm that is infinite or NaN is left so,
// and the factor is then NaN, whatever max_norm is: adamw changes nothing with it. Host only.
#pragma once
#include <cmath>
#include <limits>

#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct ClipFactorArguments {
  TensorView squares;                                         // [n], one row, fp32
  TensorView norm, factor;                                    // [1] each, fp32
  double max_norm = std::numeric_limits<double>::infinity();  // which clips nothing
  // On the GPU: memory of clip_factor_workspace_bytes(), aligned to 256 bytes.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

ProgramView validate(const ClipFactorArguments& arguments);

// As torch.nn.utils.clip_grad_norm_ has it.
CODA_HD float factor_of(double norm, double max_norm) {
  if (!(norm - norm == 0)) return std::numeric_limits<float>::quiet_NaN();
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1 ? static_cast<float>(factor) : 1.0f;
}

}  // namespace coda::row

namespace coda::cpu {
void clip_factor(const row::ClipFactorArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
int64_t clip_factor_workspace_bytes(const row::ClipFactorArguments& arguments);
void clip_factor(const row::ClipFactorArguments& arguments, CUstream_st* stream);
}  // namespace coda::cuda
