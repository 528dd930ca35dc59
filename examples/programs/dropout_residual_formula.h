// out = residual + scale·mask ⊙ (A Bᵀ); unfused: linear, dropout, add.
#pragma once
#include <coda/reference/formula.h>

inline coda::reference::Arrays dropout_residual_formula(const coda::reference::Arrays& in,
                                                        const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array y = round(round.matmul(in.at("A"), in.at("B")));
  const Array dropped = round(y * in.at("mask") * in.at("scale"));
  return {{"out", round.as("out", in.at("residual") + dropped)}};
}
