// out = residual + tanh(scale ⊙ A Bgᵀ) ⊙ (A Bvᵀ); unfused: two linears, multiply, tanh, multiply,
// add.
#pragma once
#include <coda/reference/formula.h>

#include <cmath>

inline coda::reference::Arrays tanh_gate_formula(const coda::reference::Arrays& in,
                                                 const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array g = round(round.matmul(in.at("A"), in.at("B.first")));
  const Array v = round(round.matmul(in.at("A"), in.at("B.second")));
  const Array gate = round(map(round(g * in.at("scale")), [](double x) { return std::tanh(x); }));
  return {{"out", round.as("out", in.at("residual") + round(gate * v))}};
}
