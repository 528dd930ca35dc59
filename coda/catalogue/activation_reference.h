// The activations of activation.h and their derivatives in fp64, by their textbook definitions.
#pragma once
#include <cmath>
#include <numbers>

#include "coda/reference/formula.h"

namespace coda::catalogue {

struct ActivationFormula {
  double (*value)(double x);
  double (*slope)(double x);
};

// Of the argument "activation", as numbered in activation.h; `usual` where it is left out.
inline ActivationFormula activation_formula(const reference::Arrays& in, int usual = 0) {
  static constexpr auto cdf = [](double x) {
    return 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
  };
  static constexpr auto density = [](double x) {
    return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  };
  static constexpr auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  constexpr double kFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  static constexpr auto tanh_of = [](double x) {
    return std::tanh(kFactor * (x + 0.044715 * x * x * x));
  };
  static constexpr ActivationFormula formulas[] = {
      {[](double x) { return x / (1 + std::exp(-x)); },
       [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
      {[](double x) { return x * cdf(x); }, [](double x) { return cdf(x) + x * density(x); }},
      {[](double x) { return 0.5 * x * (1 + tanh_of(x)); },
       [](double x) {
         const double t = tanh_of(x), inner = kFactor * (1 + 3 * 0.044715 * x * x);
         return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
       }},
      {[](double x) { return x < 0 ? 0 : x; }, [](double x) { return x <= 0 ? 0.0 : 1.0; }},
      {[](double x) { return x; }, [](double) { return 1.0; }}};
  return formulas[static_cast<int>(given_or(in, "activation", usual)(0, 0))];
}

}  // namespace coda::catalogue
