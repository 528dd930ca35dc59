#include "coda/cpu/row_layout.h"
#include "coda/program/angle.h"
#include "tests/cpu/simd_math.h"

namespace coda::cpu {
namespace {

template <Isa kIsa>
using One = Fragment<RowLayout<kIsa, simd::kLanes>, float, Space::kElement>;

template <Isa kIsa>
HWY_INLINE One<kIsa> evaluate(Function function, const One<kIsa>& x) {
  const auto one = One<kIsa>::constant(1.0f), zero = One<kIsa>::constant(0.0f);
  switch (function) {
    case Function::kExp: return exp(x);
    case Function::kLog: return log(x);
    case Function::kTanh: return tanh(x);
    case Function::kErf: return erf(x);
    case Function::kSqrt: return sqrt(x);
    case Function::kRsqrt: return rsqrt(x);
    case Function::kAbs: return abs(x);
    case Function::kFloor: return floor(x);
    case Function::kSigmoid: return sigmoid(x);
    case Function::kSilu: return silu(x);
    case Function::kRelu: return relu(x);
    case Function::kGelu: return gelu(x);
    case Function::kGeluTanh: return gelu_tanh(x);
    case Function::kMinTwo: return min(x, 2.0f);
    case Function::kMaxTwo: return max(x, 2.0f);
    case Function::kTwoMin: return min(2.0f, x);
    case Function::kTwoMax: return max(2.0f, x);
    case Function::kBelowTwo: return select(x < 2.0f, one, zero);
    case Function::kAtMostTwo: return select(x <= 2.0f, one, zero);
    case Function::kAboveTwo: return select(x > 2.0f, one, zero);
    case Function::kAtLeastTwo: return select(x >= 2.0f, one, zero);
    case Function::kIsTwo: return select(x == 2.0f, one, zero);
    case Function::kIsNotTwo: return select(x != 2.0f, one, zero);
    case Function::kFmaSquare: return fma(x, x, -1.0f);
    case Function::kCosine: return rotation(x, 0.7f).cosine;
    case Function::kSine: return rotation(x, 0.7f).sine;
  }
  return x;
}

// Whole vectors, then the rest through a vector of its own.
template <class From, class To, class F>
HWY_INLINE void for_each_vector(const From* from, To* to, int64_t count, F&& f) {
  int64_t i = 0;
  for (; i + simd::kLanes <= count; i += simd::kLanes) f(from + i, to + i);
  From last[simd::kLanes] = {};
  To result[simd::kLanes];
  for (int64_t j = i; j < count; ++j) last[j - i] = from[j];
  f(last, result);
  for (int64_t j = i; j < count; ++j) to[j] = result[j - i];
}

}  // namespace

template <Isa kIsa>
void SimdMath<kIsa>::apply(Function function, const float* x, float* y, int64_t count) {
  for_each_vector(x, y, count, [&](const float* from, float* to) {
    const One<kIsa> value{{simd::load(from)}};
    simd::store(evaluate<kIsa>(function, value).lane[0], to);
  });
}
template <Isa kIsa>
void SimdMath<kIsa>::load(const bf16* from, float* to, int64_t count) {
  for_each_vector(from, to, count, [](const bf16* f, float* t) { simd::store(simd::load(f), t); });
}
template <Isa kIsa>
void SimdMath<kIsa>::load(const fp16* from, float* to, int64_t count) {
  for_each_vector(from, to, count, [](const fp16* f, float* t) { simd::store(simd::load(f), t); });
}
template <Isa kIsa>
void SimdMath<kIsa>::store(const float* from, bf16* to, int64_t count) {
  for_each_vector(from, to, count, [](const float* f, bf16* t) { simd::store(simd::load(f), t); });
}
template <Isa kIsa>
void SimdMath<kIsa>::store(const float* from, fp16* to, int64_t count) {
  for_each_vector(from, to, count, [](const float* f, fp16* t) { simd::store(simd::load(f), t); });
}

template struct SimdMath<kThisIsa>;

}  // namespace coda::cpu
