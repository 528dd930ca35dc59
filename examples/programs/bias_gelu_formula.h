// gelu(z) = z·(1 + erf(z/√2))/2 of z = A Bᵀ + bias; unfused: linear with bias, gelu.
#pragma once
#include <coda/reference/formula.h>

#include <cmath>

inline coda::reference::Arrays bias_gelu_formula(const coda::reference::Arrays& in,
                                                 const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array z = round.as("before", round.matmul(in.at("A"), in.at("B")) + in.at("bias"));
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  return {{"before", z}, {"out", round.as("out", map(z, gelu))}};
}
