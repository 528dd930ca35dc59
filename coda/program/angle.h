// The rotation of RoPE: cos and sin of position·frequency, to 10^-6 at positions up to 2^22. The
// angle is kept in turns: frequency / 2π in two floats, whole turns taken off by fused
// multiply-adds, which do not round on the way; then the sine and cosine of half of what is left,
// and the double angle. On fragments and on plain floats; no slow path.
#pragma once
#include "coda/program/math.h"

namespace coda {

template <class V>
struct Rotation {
  V cosine, sine;
};

// position: whole numbers as floats; frequency: radians per position (inv_freq).
CODA_HD auto rotation(const Value auto& position, const Value auto& frequency) {
  constexpr float kTurn = 0.159154937f, kTurnRest = 6.42063833e-09f;  // 1 / 2π
  constexpr float kRound = 12582912.0f;  // 1.5·2^23: a number plus it is a whole number
  const auto step = frequency * kTurn;
  const auto step_rest = fma(frequency, kTurnRest, fma(frequency, kTurn, -step));
  const auto whole = fma(position, step, kRound) - kRound;
  const auto turn = fma(position, step_rest, fma(position, step, -whole));  // about ±1/2

  // 2·sin(π·turn) / turn and (cos(π·turn) - 1) / turn² in turn², to 5·10^-8 up to |turn| = 0.55.
  const auto square = turn * turn;
  auto sine = fma(square, 0.153494284f, -1.19570303f);
  sine = fma(sine, square, 5.10002470f);
  sine = fma(sine, square, -10.3354139f);
  sine = fma(sine, square, 6.28318501f) * turn;
  auto cosine = fma(square, -0.0243870262f, 0.234958395f);
  cosine = fma(cosine, square, -1.33522272f);
  cosine = fma(cosine, square, 4.05871058f);
  cosine = fma(cosine, square, -4.93480206f);
  cosine = fma(cosine, square, 1.0f);
  using V = stdlib::remove_cvref_t<decltype(sine * cosine)>;
  return Rotation<V>{fma(-0.5f * sine, sine, 1.0f), sine * cosine};
}

}  // namespace coda
