// The soft-cap of logits: ẑ = c·tanh(z/c).
#pragma once
#include "coda/program/math.h"

namespace coda::catalogue {

template <class Z, class Cap>
CODA_HD auto cap_softly(const Z& z, const Cap& cap) {
  return cap * tanh(z / cap);
}

// dẑ/dz = 1 - (ẑ/c)²
template <class Z, class Cap>
CODA_HD auto soft_cap_slope(const Z& capped, const Cap& cap) {
  const auto t = capped / cap;
  return 1.0f - t * t;
}

}  // namespace coda::catalogue
