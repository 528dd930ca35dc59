// x = A Bᵀ + bias + residual, Σx, Σx²; unfused: linear with bias, add, and the sums in fp32.
#pragma once
#include <coda/reference/formula.h>

inline coda::reference::Arrays mean_variance_formula(const coda::reference::Arrays& in,
                                                     const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array y = round(round.matmul(in.at("A"), in.at("B")) + in.at("bias"));
  const Array x = round.as("out", y + in.at("residual"));
  const auto segments = segments_of(in, "segments.N");
  return {{"out", x},
          {"sums", round.as("sums", round.row_partial_sums(x, segments))},
          {"squares", round.as("squares", round.row_partial_sums(x * x, segments))}};
}
