// The fragment layout of a warp: wgmma's accumulators. Lane l = 4·r + q of a warp holds, of every 8
// columns j, the columns 8j + 2q and 8j + 2q + 1 (p = 0, 1) of rows r and r + 8 (h = 0, 1).
#pragma once
#include "coda/epilogue/hardware.h"
#include "coda/program/math.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// kColumns columns of a warp's 16 rows. A per-element fragment has its lanes in the order (j, h,
// p).
template <int kColumns>
struct WarpLayout {
  template <class Element>
  using Lane = Element;

  static constexpr int count(Space space) {
    return space == Space::kElement  ? kColumns / 2
           : space == Space::kColumn ? kColumns / 4
           : space == Space::kRow    ? 2
                                     : 1;
  }
  static constexpr int project(Space space, int i) {
    return space == Space::kRow ? i / 2 % 2 : i / 4 * 2 + i % 2;
  }
  template <class Element>
  static CODA_DEVICE Element broadcast(Element value) {
    return value;
  }

  template <class Operation, class... T>
  static CODA_DEVICE auto apply(Operation operation, T... value) {
    return operation(value...);
  }
  static CODA_DEVICE float apply(op::Abs, float x) { return stdlib::fabs(x); }  // a modifier
  // The precise functions cost more than the GEMM leaves time for; these are good to about 2^-21.
  static CODA_DEVICE float apply(op::Exp, float x) { return hw::exp2_approximate(x * 1.44269504f); }
  static CODA_DEVICE float apply(op::Divide, float a, float b) {
    return a * hw::reciprocal_approximate(b);
  }
  // Abramowitz and Stegun 7.1.26, good to 1.5·10^-7: no branches, which beside wgmma's accumulators
  // would send them through local memory.
  static CODA_DEVICE float apply(op::Erf, float x) {
    const float magnitude = stdlib::abs(x);
    const float t = hw::reciprocal_approximate(stdlib::fma(0.3275911f, magnitude, 1.0f));
    float p = stdlib::fma(t, 1.061405429f, -1.453152027f);
    p = stdlib::fma(t, p, 1.421413741f);
    p = stdlib::fma(t, p, -0.284496736f);
    p = stdlib::fma(t, p, 0.254829592f) * t;
    const float tail = p * hw::exp2_approximate(x * x * -1.44269504f);
    return stdlib::copysign(1.0f - tail, x);
  }
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
