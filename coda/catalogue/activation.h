// The activations of MLPs, f in out = f(gate)·up of gated ones and in out = f(z), with their
// derivatives. Which one is chosen when the program runs: the branch is the same for all threads.
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

enum class Activation : int32_t {
  kSilu = 0,      // x·σ(x)
  kGelu = 1,      // x·Φ(x)
  kGeluTanh = 2,  // x·σ(2y), y = √(2/π)·(x + 0.044715·x³): GELU by tanh, (1 + tanh y)/2 = σ(2y)
  kRelu = 3,      // max(x, 0)
  kIdentity = 4,  // x: a linear layer with none; no gated one has it
};
using ActivationPort = Choice<Activation, Activation::kRelu>;  // of gated MLPs
using PlainActivationPort = Choice<Activation, Activation::kIdentity, Activation::kGeluTanh>;

template <AnyFragment V>
CODA_HD V activate(Activation activation, const V& x) {
  if (activation == Activation::kSilu) return silu(x);
  if (activation == Activation::kGelu) return gelu(x);
  if (activation == Activation::kGeluTanh) return gelu_tanh(x);
  return relu(x);
}

template <AnyFragment V>
CODA_HD V activate_or_keep(Activation activation, const V& x) {
  return activation == Activation::kIdentity ? x : activate(activation, x);
}

template <class V>
struct Activated {
  V value, slope;  // f(x) and f'(x)
};

template <class V>
struct Sigmoids {
  V plus, minus;  // σ(x) and σ(-x) = 1 - σ(x)
};

// kPrecise: the smaller one to full relative precision too.
template <bool kPrecise, AnyFragment V>
CODA_HD Sigmoids<V> sigmoids(const V& x) {
  if constexpr (kPrecise) {
    const V e = exp(-abs(x)), large = 1.0f / (1.0f + e), small = e * large;
    return {select(x < 0.0f, small, large), select(x < 0.0f, large, small)};
  } else {
    const V s = sigmoid(x);
    return {s, 1.0f - s};
  }
}

// kPrecise: for results that are stored in fp32; what is rounded to fewer bits does not need it.
template <bool kPrecise, AnyFragment V>
CODA_HD Activated<V> activate_with_slope(Activation activation, const V& x) {
  if (activation == Activation::kSilu) {
    const auto s = sigmoids<kPrecise>(x);
    const V value = x * s.plus;
    return {value, fma(value, s.minus, s.plus)};
  }
  if (activation == Activation::kGelu) {
    const V cdf = 0.5f + 0.5f * erf(x * 0.70710678f);
    return {x * cdf, fma(x, 0.39894228f * exp(-0.5f * x * x), cdf)};
  }
  if (activation == Activation::kGeluTanh) {
    const V square = x * x;
    const auto s = sigmoids<kPrecise>(x * fma(square, 0.07135482f, 1.59576912f));
    const V value = x * s.plus, inner = fma(square, 0.21406445f, 1.59576912f);
    return {value, fma(value * s.minus, inner, s.plus)};
  }
  return {relu(x), select(x <= 0.0f, 0.0f, V::constant(1.0f))};
}

template <bool kPrecise, AnyFragment V>
CODA_HD Activated<V> activate_or_keep_with_slope(Activation activation, const V& x) {
  if (activation == Activation::kIdentity) return {x, V::constant(1.0f)};
  return activate_with_slope<kPrecise>(activation, x);
}

}  // namespace coda::catalogue
