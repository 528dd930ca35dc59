// How Hopper's tensor cores add up bf16 and fp16 products: the arithmetic of an unfused GEMM on the
// GPU, which rounds nothing to nearest. docs/numerics.md says where the numbers come from.
#pragma once
#include "coda/core/types.h"
#include "coda/reference/array.h"

namespace coda::reference {

// One instruction takes this many products and the accumulator, and moves them to the largest
// exponent among them. What lies more than so many bits below it is cut off, term by term.
inline constexpr int kTensorCoreDepth = 16;
inline constexpr int kTensorCoreBits = 25;

// A·Bᵀ, as matmul(); the sum of an instruction's terms is cut to fp32, the next accumulator.
// operands: bf16 or fp16, whose smallest exponents differ.
Array matmul_tensor_core(const Array& a, const Array& b, DType operands);

}  // namespace coda::reference
