// The activations of gated linear units, f in out = f(gate)·up, with their derivatives. Which one is
// chosen when the program runs: the branch is the same for all threads.
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

enum class Activation : int32_t {
  kSilu = 0,      // x·σ(x)
  kGelu = 1,      // x·Φ(x)
  kGeluTanh = 2,  // x·σ(2y), y = √(2/π)·(x + 0.044715·x³): GELU by tanh, (1 + tanh y)/2 = σ(2y)
  kRelu = 3,      // max(x, 0)
};
using ActivationPort = Choice<Activation, Activation::kRelu>;

template <AnyFragment V>
CODA_HD V activate(Activation activation, const V& x) {
  if (activation == Activation::kSilu) return silu(x);
  if (activation == Activation::kGelu) return gelu(x);
  if (activation == Activation::kGeluTanh) return gelu_tanh(x);
  return relu(x);
}

template <class V>
struct Activated {
  V value, slope;  // f(x) and f'(x)
};

template <AnyFragment V>
CODA_HD Activated<V> activate_with_slope(Activation activation, const V& x) {
  if (activation == Activation::kSilu) {
    const V s = sigmoid(x), value = x * s;
    return {value, s + value * (1.0f - s)};
  }
  if (activation == Activation::kGelu) {
    const V cdf = 0.5f + 0.5f * erf(x * 0.70710678f);
    return {x * cdf, cdf + x * (0.39894228f * exp(-0.5f * x * x))};
  }
  if (activation == Activation::kGeluTanh) {
    const V square = x * x;
    const V s = sigmoid(1.59576912f * x * (1.0f + 0.044715f * square));
    return {x * s, s + x * s * (1.0f - s) * (1.59576912f + 0.21406445f * square)};
  }
  return {relu(x), select(x <= 0.0f, 0.0f, V::constant(1.0f))};
}

}  // namespace coda::catalogue
