// B0: gradients of q, k, v back to those of their linear layers, rotated back and multiplied by the
// row factor r of the RMSNorm before them, d̃z = r·dz, with the row sums Σ z·dz per head that the
// norm's own gradient needs. With a norm of every head of q and k (q_norm, k_norm), through it too:
//   n = γ·z·s, s = (mean z² + ε')^-½:  dz = s·γ·dn − z·s³·mean(γ·dn·z),  Σ z·dz = ε'·s²·Σ n·dn
// With biases the sums are Σ (z−b)·dz. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

// Of q, k or v, H heads. T is bf16 or fp32, and bf16 on the GPU.
struct RopeBackwardSegment {
  TensorView dy;                         // [M, H·d]: the gradient that comes in
  TensorView y;                          // [M, H·d]: q, k after RoPE, v; before a head norm: z
  TensorView dz;                         // [M, H·d]: d̃z; may be `dy` itself
  std::optional<TensorView> bias = {};   // [H·d], one row, of type T
  std::optional<TensorView> dbias = {};  // [⌈M/64⌉, H·d], fp32: partials of Σ_m dz, before r
  std::optional<TensorView> norm = {};   // γ [d], one row, of type T; not of v
  std::optional<TensorView> dnorm = {};  // [⌈M/64⌉, H·d], fp32: of Σ_m dn·z·s, head by head
};

struct RopeBackwardArguments {
  RopeBackwardSegment q, k, v;
  TensorView positions;                     // [M], one row; int32 or int64
  TensorView rstd;                          // [parts, M], fp32: Σx², from which r is finished
  double rstd_width = 0, rstd_epsilon = 0;  // r = (Σx²/width + ε)^-½
  TensorView sums;                          // [Hq + 2·Hkv, M], fp32: Σ z·dz of each head
  int64_t head_dim = 0;                     // even; on the GPU a multiple of 16 up to 256
  // Angles position·inv_freq, or tables that are read at the position; then times `scale`.
  std::optional<TensorView> inv_freq = {};             // [d/2], one row, fp32
  std::optional<TensorView> cosines = {}, sines = {};  // [positions, d/2], of type T
  double scale = 1;
  double norm_epsilon = 0;  // ε' of the head norms
};

ProgramView validate(const RopeBackwardArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
// A position outside of the tables is an error.
void rope_backward(const row::RopeBackwardArguments& arguments, int threads = 0);
}  // namespace coda::cpu

// Defined where there is nvcc.
namespace coda::cuda {
// A position outside of the tables gives NaN.
void rope_backward(const row::RopeBackwardArguments& arguments, CUstream_st* stream);
}  // namespace coda::cuda
