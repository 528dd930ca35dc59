// a = f(n Wgᵀ)·(n Wuᵀ) with n = rstd ⊙ A, rstd = (Σx²/width + ε)^(-1/2); unfused: the row is
// normalised and stored, then two linears, the activation, multiply.
#pragma once
#include "coda/catalogue/activation_reference.h"
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_swiglu_reference(const reference::Arrays& in,
                                                 const reference::Rounding& round) {
  using reference::Array;
  Array n = in.at("A");
  if (in.contains("rstd")) {
    const Array mean = column_sums(in.at("rstd")) / in.at("rstd.width");
    const Array rstd = round.as("rstd", reciprocal_sqrt(mean + in.at("rstd.epsilon")));
    n = round(transpose(rstd) * n);
  }
  const Array g = round.as("gate", round.matmul(n, in.at("B.first")));
  const Array u = round.as("up", round.matmul(n, in.at("B.second")));
  const Array a = round.as("out", round(map(g, activation_formula(in).value)) * u);
  return {{"gate", g}, {"up", u}, {"out", a}};
}

}  // namespace coda::catalogue
