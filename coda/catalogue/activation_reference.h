// The activations of activation.h and their derivatives, by their textbook definitions.
#pragma once
#include <cmath>
#include <numbers>

#include "coda/reference/formula.h"

namespace coda::catalogue {

// In fp64, or in fp32, operator by operator, as frameworks compute them.
template <class V>
struct Textbook {
  static V sigmoid(V x) { return 1 / (1 + std::exp(-x)); }
  static V silu(V x) { return x / (1 + std::exp(-x)); }
  static V silu_slope(V x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }

  static V cdf(V x) { return V(0.5) * (1 + std::erf(x / std::numbers::sqrt2_v<V>)); }
  static V density(V x) {
    return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<V> / std::numbers::sqrt2_v<V>;
  }
  static V gelu(V x) { return x * cdf(x); }
  static V gelu_slope(V x) { return cdf(x) + x * density(x); }

  static constexpr V kFactor = std::numbers::sqrt2_v<V> * std::numbers::inv_sqrtpi_v<V>;
  static V tanh_of(V x) { return std::tanh(kFactor * (x + V(0.044715) * x * x * x)); }
  static V gelu_tanh(V x) { return V(0.5) * x * (1 + tanh_of(x)); }
  static V gelu_tanh_slope(V x) {
    const V t = tanh_of(x), inner = kFactor * (1 + 3 * V(0.044715) * x * x);
    return V(0.5) * (1 + t) + V(0.5) * x * (1 - t * t) * inner;
  }

  static V relu(V x) { return x < 0 ? 0 : x; }
  static V relu_slope(V x) { return x <= 0 ? 0 : 1; }
  static V identity(V x) { return x; }
  static V identity_slope(V) { return 1; }
};

template <class V>
struct ActivationFunctions {
  V (*value)(V x);
  V (*slope)(V x);
};
using ActivationFormula = ActivationFunctions<double>;

// Of the argument "activation", as numbered in activation.h; `usual` where it is left out.
template <class V>
ActivationFunctions<V> activation_functions(const reference::Arrays& in, int usual = 0) {
  using F = Textbook<V>;
  static constexpr ActivationFunctions<V> functions[] = {{F::silu, F::silu_slope},
                                                         {F::gelu, F::gelu_slope},
                                                         {F::gelu_tanh, F::gelu_tanh_slope},
                                                         {F::relu, F::relu_slope},
                                                         {F::identity, F::identity_slope}};
  return functions[static_cast<int>(given_or(in, "activation", usual)(0, 0))];
}
inline ActivationFormula activation_formula(const reference::Arrays& in, int usual = 0) {
  return activation_functions<double>(in, usual);
}

// f(x) and f'(x); unfused: in fp32.
struct ActivatedArrays {
  reference::Array value, slope;
};
inline ActivatedArrays activated(const reference::Array& x, const reference::Arrays& in,
                                 const reference::Rounding& round, int usual = 0) {
  if (!round.rounds()) {
    const ActivationFormula f = activation_formula(in, usual);
    return {map(x, f.value), map(x, f.slope)};
  }
  const auto f = activation_functions<float>(in, usual);
  const auto in_fp32 = [&](float (*function)(float)) {
    return map(x, [&](double v) { return double{function(static_cast<float>(v))}; });
  };
  return {in_fp32(f.value), in_fp32(f.slope)};
}

}  // namespace coda::catalogue
