// logits = A Bᵀ·inverse_temperature, the log Σ exp of their rows in parts, and the logit of the
// pair (i, i): what a contrastive loss takes, whose targets are the diagonal.
#pragma once
#include <coda/program/program.h>

template <class T>
struct ContrastiveLogits {
  coda::Scalar<float> inverse_temperature;
  coda::Optional<coda::Store<T>> logits;  // [M, N]
  coda::RowReduce<coda::LogSumExp> sums;  // [⌈N/64⌉, M]
  coda::RowReduce<coda::Sum> matching;    // [⌈N/64⌉, M]: the logit in column i of row i, else 0

  static constexpr const char* name = "contrastive_logits";
  static constexpr auto port_names =
      coda::names("inverse_temperature", "logits", "sums", "matching");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator() * tile.load(inverse_temperature);
    tile.store(logits, z);
    tile.reduce(sums, z);
    tile.reduce(matching, coda::select(tile.row() == tile.column(), z, 0.0f));
  }
};
