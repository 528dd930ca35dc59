// a = f(n Wgᵀ)·(n Wuᵀ) with n = rstd ⊙ A, rstd = (Σx²/width + ε)^(-1/2); unfused: the row is
// normalised and stored, then two linears, the activation, multiply.
#pragma once
#include "coda/catalogue/activation_reference.h"
#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_swiglu_reference(const reference::Arrays& in,
                                                 const reference::Rounding& round) {
  using reference::Array;
  const Array n = normalised_rows(in, round);
  const Array g = round.as("gate", round.matmul(n, in.at("B.first")));
  const Array u = round.as("up", round.matmul(n, in.at("B.second")));
  const Array a = round.as("out", round(activated(g, in, round).value) * u);
  return {{"gate", g}, {"up", u}, {"out", a}};
}

}  // namespace coda::catalogue
