// Column reductions: a warp's 16 rows become one state per column, in the warp's line of shared
// memory; the driver combines the lines of four warps.
#pragma once
#include "coda/epilogue/row_state.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// A lane's values of its two rows, 8 apart, as one state per column; rows_left: from the first of
// them to the last of the problem.
template <class Reduction, class State, int kOwn, class... V>
CODA_DEVICE void lift_columns(State (&state)[kOwn], int rows_left, const V&... value) {
  CODA_UNROLL
  for (int n = 0; n < kOwn; ++n) {
    const int i = n / 2 * 4 + n % 2;
    const State identity = Reduction::template identity<float>();
    const State top = rows_left > 0 ? Reduction::lift(value.lane[i]...) : identity;
    const State bottom = rows_left > 8 ? Reduction::lift(value.lane[i + 2]...) : identity;
    state[n] = Reduction::combine(top, bottom);
  }
}

// state: of this lane's columns (pairs of every 8, from column kFirst on), over its own two rows.
// Over the eight lanes that share them: at every step a lane keeps half of the columns it holds, so
// few shuffles do.
template <class Reduction, int kFirst, class State, int kOwn>
CODA_DEVICE void fold_columns(State (&state)[kOwn], uint32_t lane, uint32_t line) {
  int begin = 0;  // of the columns this lane still holds, among its own
  int held = kOwn;
  CODA_UNROLL
  for (uint32_t mask = 16; mask >= 4; mask /= 2) {
    const bool upper = (lane & mask) != 0;
    if (held > 1) {
      held /= 2;
      CODA_UNROLL
      for (int n = 0; n < kOwn / 2; ++n) {
        if (n >= held) break;
        const State keep = upper ? state[n + held] : state[n];
        const State give = upper ? state[n] : state[n + held];
        state[n] = Reduction::combine(keep, shuffle_state(give, mask));
      }
      begin += upper ? held : 0;
    } else {
      state[0] = Reduction::combine(state[0], shuffle_state(state[0], mask));
    }
  }
  // With fewer columns than lanes, lanes that differ in the last bits hold the same one.
  const bool writes = kOwn >= 8 || (lane & (8 / kOwn - 1) << 2) == 0;
  if (!writes) return;
  CODA_UNROLL
  for (int n = 0; n < (kOwn >= 8 ? kOwn / 8 : 1); ++n) {
    const int own = begin + n;
    const uint32_t column = static_cast<uint32_t>(kFirst + own / 2 * 8 + own % 2) + 2 * (lane & 3);
    uint32_t to = line + column * sizeof(State);
    for_each_member(state[n], [&](float& member) {
      hw::store_shared(to, stdlib::bit_cast<uint32_t>(member));
      to += 4;
    });
  }
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
