// out = max(A Bᵀ, 0)²; unfused: linear, relu, square.
#pragma once
#include <coda/reference/formula.h>

inline coda::reference::Arrays squared_relu_formula(const coda::reference::Arrays& in,
                                                    const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array z = round.as("before", round.matmul(in.at("A"), in.at("B")));
  const Array positive = map(z, [](double x) { return x < 0 ? 0 : x; });
  return {{"before", z}, {"out", round.as("out", positive * positive)}};
}
