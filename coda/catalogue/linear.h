// out = α·rstd ⊙ A Bᵀ + β·C + bias. C may be the very memory of out (dW += ...).
#pragma once
#include "coda/program/program.h"

namespace coda::catalogue {

template <class T>
struct Linear {
  Scalar<float> alpha{1.0f}, beta{1.0f};
  Optional<PerElement<const T>> c;           // [M, N]
  Optional<PerColumn<const T>> bias;         // [N]
  Store<T> out;                              // [M, N]
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]: Σx² of A's rows; without it 1

  static constexpr const char* name = "linear";
  static constexpr auto port_names = names("alpha", "beta", "c", "bias", "out", "rstd");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto y = tile.accumulator() * tile.load(alpha) * tile.load(rstd, 1.0f);
    if (c.given) y = y + tile.load(c, 0.0f) * tile.load(beta);
    tile.store(out, y + tile.load(bias, 0.0f));
  }
};

}  // namespace coda::catalogue
