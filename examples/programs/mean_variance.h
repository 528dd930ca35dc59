// out = A Bᵀ + bias + residual with Σx and Σx² of every 64 columns: what LayerNorm's mean and
// variance are finished from where the next GEMM applies them.
#pragma once
#include <coda/program/program.h>

template <class T>
struct MeanVariance {
  coda::PerColumn<const T> bias;             // [N]
  coda::PerElement<const T> residual;        // [M, N]
  coda::Store<T> out;                        // [M, N]
  coda::RowReduce<coda::Sum> sums, squares;  // [⌈N/64⌉, M] each

  static constexpr const char* name = "mean_variance";
  static constexpr auto port_names = coda::names("bias", "residual", "out", "sums", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator() + tile.load(bias) + tile.load(residual);
    tile.store(out, x);
    tile.reduce(sums, x);
    tile.reduce(squares, x * x);
  }
};
