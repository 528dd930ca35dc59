// out = relu(A Bᵀ)², the activation of Primer; the product itself where backward wants it.
#pragma once
#include <coda/program/program.h>

template <class T>
struct SquaredRelu {
  coda::Optional<coda::Store<T>> before;  // [M, N]
  coda::Store<T> out;                     // [M, N]

  static constexpr const char* name = "squared_relu";
  static constexpr auto port_names = coda::names("before", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    const auto positive = coda::relu(z);
    tile.store(before, z);
    tile.store(out, positive * positive);
  }
};
