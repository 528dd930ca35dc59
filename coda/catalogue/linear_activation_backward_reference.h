// dz = da·f'(z), da = A Bᵀ; out = f(z); dots = Σ dz·(z − offset − bias), shifts = Σ dz·shift per 64
// columns, dbias = Σ dz per 64 rows. Unfused: a linear, the activation and its backward, each
// stored; the derivative and the sums in fp32.
#pragma once
#include "coda/catalogue/activation_reference.h"

namespace coda::catalogue {

inline reference::Arrays linear_activation_backward_reference(const reference::Arrays& in,
                                                              const reference::Rounding& round) {
  using reference::Array;
  constexpr int kGeluTanh = 2;
  const Array& z = in.at("before");
  const ActivatedArrays f = activated(z, in, round, kGeluTanh);
  const Array da = round(round.matmul(in.at("A"), in.at("B")));
  const Array dz = round.as("dz", da * f.slope);
  const Array bare = z - (given_or(in, "offset", 0) + given_or(in, "bias", 0));
  const auto columns = segments_of(in, "segments.N"), rows = segments_of(in, "segments.M");
  const Array shifts = round.row_partial_sums(dz * given_or(in, "shift", 0), columns);
  return {{"dz", dz},
          {"out", round.as("out", f.value)},
          {"dots", round.as("dots", round.row_partial_sums(dz * bare, columns))},
          {"shifts", round.as("shifts", shifts)},
          {"dbias", round.as("dbias", round.column_partial_sums(dz, rows))}};
}

}  // namespace coda::catalogue
