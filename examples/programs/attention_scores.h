// scores = scale·A Bᵀ and, of every 64 columns, (max, Σexp(score - max)): one pass over the
// partials finishes the softmax of a row.
#pragma once
#include <coda/program/program.h>

template <class T>
struct AttentionScores {
  coda::Scalar<float> scale;              // 1/√head_dim
  coda::Store<T> scores;                  // [M, N]
  coda::RowReduce<coda::LogSumExp> sums;  // [⌈N/64⌉, M]

  static constexpr const char* name = "attention_scores";
  static constexpr auto port_names = coda::names("scale", "scores", "sums");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator() * tile.load(scale);
    tile.store(scores, z);
    tile.reduce(sums, z);
  }
};
