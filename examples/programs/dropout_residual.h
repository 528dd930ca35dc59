// out = residual + scale·mask ⊙ (A Bᵀ): the end of a half-block in training. The mask comes from
// outside, so that backward has the same one.
#pragma once
#include <coda/program/program.h>

template <class T>
struct DropoutResidual {
  coda::PerElement<const T> mask, residual;  // [M, N] each; 1: kept, 0: dropped
  coda::Scalar<float> scale;                 // 1/(share that is kept)
  coda::Store<T> out;                        // [M, N]; may be residual's memory

  static constexpr const char* name = "dropout_residual";
  static constexpr auto port_names = coda::names("mask", "residual", "scale", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto kept = tile.accumulator() * tile.load(mask) * tile.load(scale);
    tile.store(out, tile.load(residual) + kept);
  }
};
