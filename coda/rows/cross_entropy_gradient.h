// The gradient by the logits from logits that were stored, before the soft-cap and rounded:
//   dz = [p·(1 + 2λ·lse) - (1-α)·1_target - α/V]·(1 - (ẑ/c)²)·dloss·scale,
// stored as rstd·dz, and Σ z·dz. p is normalised over the rounded logits: beside the lse of exact
// ones, the p of a row with one large logit would be off by all of that logit's rounding error.
// Host only.
#pragma once
#include "coda/core/view.h"
#include "coda/program/ports.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::cpu {
struct Options;  // coda/cpu/run.h
}

namespace coda::row {

template <class T>
struct CrossEntropyGradientArguments {
  Matrix<const T> logits;           // z [M, V]
  const int64_t* target = nullptr;  // [M]
  const float* lse = nullptr;       // [M]
  PerRowFrom<ReciprocalRms> rstd;   // [parts, M]; 1 where it is missing
  const float* dloss = nullptr;     // [M]; 1 where it is null
  const float* scale = nullptr;     // [1]
  float soft_cap = 0, z_loss = 0, smoothing = 0;
  int64_t ignore_index = -100;
  Matrix<T> out;          // rstd·dz [M, V]; may be the very memory of logits
  float* dots = nullptr;  // [M]: Σ z·dz; may be null
};

}  // namespace coda::row

namespace coda::cpu {
template <class T>  // bf16 or float
void cross_entropy_gradient(const row::CrossEntropyGradientArguments<T>& arguments,
                            const Options& options);
}

// Defined where there is nvcc; on the current device. Lines of logits and out begin at multiples of
// 16 bytes.
namespace coda::cuda {
void cross_entropy_gradient(const row::CrossEntropyGradientArguments<bf16>& arguments,
                            CUstream_st* stream);
}
