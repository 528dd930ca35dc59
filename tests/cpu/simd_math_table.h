// The functions of tests/cpu/simd_math.h by instruction set.
#pragma once
#include "tests/cpu/simd_math.h"

namespace coda::cpu {

struct SimdMathFunctions {
  void (*apply)(Function, const float*, float*, int64_t);
  void (*load_bf16)(const bf16*, float*, int64_t);
  void (*load_fp16)(const fp16*, float*, int64_t);
  void (*store_bf16)(const float*, bf16*, int64_t);
  void (*store_fp16)(const float*, fp16*, int64_t);
};

template <Isa kIsa>
SimdMathFunctions simd_math_functions() {
  using Math = SimdMath<kIsa>;
  return {&Math::apply, &Math::load, &Math::load, &Math::store, &Math::store};
}

inline SimdMathFunctions simd_math(Isa isa) {
#if CODA_CPU_ISAS > 1
  if (isa == Isa::kAvx2) return simd_math_functions<Isa::kAvx2>();
#endif
#if CODA_CPU_ISAS > 2
  if (isa == Isa::kAvx512) return simd_math_functions<Isa::kAvx512>();
#endif
  return simd_math_functions<Isa::kPortable>();
}

}  // namespace coda::cpu
