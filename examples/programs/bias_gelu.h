// out = gelu(A Bᵀ + bias), and where asked for A Bᵀ + bias, which its backward takes.
#pragma once
#include <coda/program/program.h>

template <class T>
struct BiasGelu {
  coda::PerColumn<const T> bias;          // [N]
  coda::Optional<coda::Store<T>> before;  // [M, N]
  coda::Store<T> out;                     // [M, N]

  static constexpr const char* name = "bias_gelu";
  static constexpr auto port_names = coda::names("bias", "before", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator() + tile.load(bias);
    tile.store(before, z);
    tile.store(out, coda::gelu(z));
  }
};
