// out = γ ⊙ head / rms(head) for every head of A Bᵀ: a norm over groups of columns, like q/k norm.
// B comes as the halves of its heads, so a head's sum is over both accumulators.
#pragma once
#include <coda/program/program.h>

template <class T>
struct HeadRms {
  coda::Paired<coda::PerHead<const T>> gamma;  // [head_dim]
  coda::Scalar<float> epsilon{1e-6f};
  coda::Paired<coda::Store<T>> out;  // [M, heads·head_dim]

  static constexpr const char* name = "head_rms";
  static constexpr auto port_names = coda::names("gamma", "epsilon", "out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto first = tile.accumulator(0), second = tile.accumulator(1);
    const auto squares = tile.group_sum(first * first + second * second);
    const auto mean = squares * (1.0f / static_cast<float>(tile.head_dim()));
    const auto factor = coda::rsqrt(mean + tile.load(epsilon));
    const auto weight = tile.load(gamma);
    tile.store(out, first * factor * weight.first, second * factor * weight.second);
  }
};
