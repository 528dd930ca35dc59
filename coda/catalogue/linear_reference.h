// out = α·rstd ⊙ A Bᵀ + β·C + bias; unfused: the normalised row is stored, then addmm(C, A, Bᵀ),
// then the bias is added.
#pragma once
#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_reference(const reference::Arrays& in,
                                          const reference::Rounding& round) {
  using reference::Array;
  Array y = given_or(in, "alpha", 1) * round.matmul(normalised_rows(in, round), in.at("B"));
  if (in.contains("c")) y = y + given_or(in, "beta", 1) * in.at("c");
  y = round.as("out", y);
  if (in.contains("bias")) y = round.as("out", y + in.at("bias"));
  return {{"out", y}};
}

}  // namespace coda::catalogue
