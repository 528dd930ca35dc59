// out = α·A Bᵀ + β·C + bias; unfused: addmm(C, A, Bᵀ), then the bias is added.
#pragma once
#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays linear_reference(const reference::Arrays& in,
                                          const reference::Rounding& round) {
  using reference::Array;
  Array y = given_or(in, "alpha", 1) * round.matmul(in.at("A"), in.at("B"));
  if (in.contains("c")) y = y + given_or(in, "beta", 1) * in.at("c");
  y = round.as("out", y);
  if (in.contains("bias")) y = round.as("out", y + in.at("bias"));
  return {{"out", y}};
}

}  // namespace coda::catalogue
