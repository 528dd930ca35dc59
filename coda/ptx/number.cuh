// Conversions between pairs of 16-bit elements and floats, and the approximate functions.
#pragma once
#include "coda/core/types.h"
#include "coda/ptx/barrier.cuh"

namespace coda::ptx {

// (low, high) halves of a 32-bit word.
template <class T>
CODA_DEVICE uint32_t pack(float low, float high) {
  uint32_t word;
  if constexpr (stdlib::is_same_v<T, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  }
  return word;
}
template <class T>
CODA_DEVICE void unpack(uint32_t word, float& low, float& high) {
  if constexpr (stdlib::is_same_v<T, bf16>) {
    low = __uint_as_float(word << 16);
    high = __uint_as_float(word & 0xffff0000u);
  } else {
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}\n"
        : "=f"(low), "=f"(high)
        : "r"(word));
  }
}

// Never fused with a product before it.
CODA_DEVICE float add_rounded(float a, float b) { return __fadd_rn(a, b); }

CODA_DEVICE float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
CODA_DEVICE float reciprocal_approximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace coda::ptx
