// The soft-cap of logits: ẑ = c·tanh(z/c).
#pragma once
#include "coda/program/math.h"

namespace coda::catalogue {

template <class V>
struct Capped {
  V value, slope;  // ẑ and dẑ/dz = 1 - tanh²(z/c), which is 0 where ẑ is c
};

template <class Z, class Cap>
CODA_HD auto cap_softly_with_slope(const Z& z, const Cap& cap) {
  const auto t = tanh(z / cap);
  const auto value = cap * t;
  return Capped<stdlib::remove_const_t<decltype(value)>>{value, 1.0f - t * t};
}

template <class Z, class Cap>
CODA_HD auto cap_softly(const Z& z, const Cap& cap) {
  return cap_softly_with_slope(z, cap).value;
}

}  // namespace coda::catalogue
