// The rotation of RoPE: cos and sin of position·frequency, to 2·10^-7 where position·frequency is
// at most 2^22. The angle is kept in quarter turns: frequency·2/π in two floats, whole quarters
// taken off by fused multiply-adds, which do not round on the way; sine and cosine of what is left
// are polynomials, and the quarters turn them. On fragments and on plain floats; no slow path.
#pragma once
#include "coda/program/math.h"

namespace coda {

template <class V>
struct Rotation {
  V cosine, sine;
};

namespace detail {
// A layout that does not round has no use for what follows.
template <class V>
constexpr bool whole_rotation() {
  return requires { V::Layout::kWholeRotation; };
}

CODA_HD auto rounded_rotation(const Value auto& position, const Value auto& frequency) {
  constexpr float kQuarters = 0.636619747f, kQuartersRest = 2.56825533e-08f;  // 2 / π
  constexpr float kRound = 12582912.0f;  // 1.5·2^23: a number plus it is a whole number
  const auto step = frequency * kQuarters;
  const auto step_rest = fma(frequency, kQuartersRest, fma(frequency, kQuarters, -step));
  const auto whole = fma(position, step, kRound) - kRound;
  const auto rest = fma(position, step_rest, fma(position, step, -whole));  // about ±1/2

  // sin(π/2·rest) / rest and (cos(π/2·rest) - 1) / rest² in rest², to 6·10^-8 up to |rest| = 0.72.
  const auto square = rest * rest;
  auto sine = fma(square, -0.0045181606f, 0.0796399415f);
  sine = fma(sine, square, -0.645958662f);
  sine = fma(sine, square, 1.57079625f) * rest;
  auto cosine = fma(square, 0.000893491611f, -0.0208551735f);
  cosine = fma(cosine, square, 0.253668636f);
  cosine = fma(cosine, square, -1.23370051f);
  cosine = fma(cosine, square, 1.0f);

  const auto quarter = fma(fma(whole, 0.25f, kRound) - kRound, -4.0f, whole);  // -2 to 2
  const auto along = 1.0f - abs(quarter);                                      // its cosine
  const auto across = quarter * (2.0f - abs(quarter));                         // its sine
  using V = stdlib::remove_cvref_t<decltype(sine * cosine)>;
  return Rotation<V>{cosine * along - sine * across, fma(sine, along, cosine * across)};
}

}  // namespace detail

// position: whole numbers as floats; frequency: radians per position (inv_freq).
template <Value Position, Value Frequency>
CODA_HD auto rotation(const Position& position, const Frequency& frequency) {
  if constexpr (detail::whole_rotation<Position>()) {
    const auto cosine = map(op::TurnCosine{}, position, frequency);
    return Rotation<stdlib::remove_const_t<decltype(cosine)>>{
        cosine, map(op::TurnSine{}, position, frequency)};
  } else {
    return detail::rounded_rotation(position, frequency);
  }
}

}  // namespace coda
