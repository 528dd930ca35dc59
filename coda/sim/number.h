// Conversions and approximate functions of coda/ptx/number.cuh on the host.
#pragma once
#include "coda/core/types.h"
#include "coda/sim/barrier.h"

namespace coda::sim {

template <class T>
CODA_DEVICE uint32_t pack(float low, float high) {
  return static_cast<uint32_t>(from_float<T>(low).bits) |
         static_cast<uint32_t>(from_float<T>(high).bits) << 16;
}
template <class T>
CODA_DEVICE void unpack(uint32_t word, float& low, float& high) {
  low = to_float(T{static_cast<uint16_t>(word)});
  high = to_float(T{static_cast<uint16_t>(word >> 16)});
}

CODA_DEVICE float add_rounded(float a, float b) { return a + b; }

// Subnormal numbers are zero for the approximate instructions, in and out.
CODA_DEVICE float flush(float x) {
  return stdlib::abs(x) < stdlib::numeric_limits<float>::min() ? stdlib::copysign(0.0f, x) : x;
}
CODA_DEVICE float exp2_approximate(float x) { return flush(stdlib::exp2(flush(x))); }
CODA_DEVICE float reciprocal_approximate(float x) { return flush(1.0f / flush(x)); }

}  // namespace coda::sim
