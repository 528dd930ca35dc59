// The SIMD functions and conversions of one instruction set, over arrays, for files that are
// compiled for none in particular.
#pragma once
#include "coda/core/types.h"
#include "coda/cpu/isa.h"

namespace coda::cpu {

enum class Function {
  kExp,
  kLog,
  kTanh,
  kErf,
  kSqrt,
  kRsqrt,
  kAbs,
  kFloor,
  kSigmoid,
  kSilu,
  kRelu,
  kGelu,
  kGeluTanh,
  kMinTwo,
  kMaxTwo,
  kTwoMin,
  kTwoMax,
  kBelowTwo,  // comparisons give 1 or 0
  kAtMostTwo,
  kAboveTwo,
  kAtLeastTwo,
  kIsTwo,
  kIsNotTwo,
  kFmaSquare,
  kCosine,  // at position x of frequency 0.7
  kSine,
};

template <Isa kIsa>
struct SimdMath {
  static void apply(Function function, const float* x, float* y, int64_t count);
  static void load(const bf16* from, float* to, int64_t count);
  static void load(const fp16* from, float* to, int64_t count);
  static void store(const float* from, bf16* to, int64_t count);
  static void store(const float* from, fp16* to, int64_t count);
};

}  // namespace coda::cpu
