// Programs for tests/tools/check_test.cpp: each of the wrong ones has the ports of a catalogue
// program and one mistake; the right ones use every kind of port, segments and heads.
#pragma once
#include "coda/program/program.h"

namespace coda::tools {

enum class Mistake {
  kNone,
  kSwapped,         // silu(up)·gate
  kNoResidual,      // the residual is forgotten
  kNextColumn,      // the bias of the next column
  kRoundedSquares,  // sums of what was stored, not of what was computed
  kPadding,         // the last column counts for those that are missing to a multiple of 64
  kBeyond,          // one element too many is written in a line
  kInaccurate,      // a relative error of 2^-19
};

template <class T, Mistake kMistake>
struct Swiglu {
  Optional<PerRowFrom<ReciprocalRms>> rstd;
  Optional<Store<T>> gate, up;
  Store<T> out;

  static constexpr auto port_names = names("rstd", "gate", "up", "out");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto scale = tile.load(rstd, 1.0f);
    const auto g = tile.accumulator(0) * scale, u = tile.accumulator(1) * scale;
    tile.store(gate, g);
    tile.store(up, u);
    if constexpr (kMistake == Mistake::kSwapped) {
      tile.store(out, silu(u) * g);
    } else {
      tile.store(out, silu(g) * u);
    }
  }
};

template <class T, Mistake kMistake>
struct ResidualNorm {
  PerElement<const T> residual;
  Optional<PerColumn<const T>> bias;
  Store<T> out;
  RowReduce<Sum> squares;

  static constexpr auto port_names = names("residual", "bias", "out", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    auto b = bias;
    if (kMistake == Mistake::kNextColumn && b.given) b.view[0].data += 1;
    auto x = tile.accumulator() + tile.load(b, 0.0f);
    if constexpr (kMistake != Mistake::kNoResidual) x = x + tile.load(residual);
    if constexpr (kMistake == Mistake::kInaccurate) x = x * (1 + 0x1p-19f);
    if constexpr (kMistake == Mistake::kBeyond) {
      auto beyond = out;
      beyond.view[0].data += 1;
      tile.store(beyond, x);
    }
    tile.store(out, x);
    auto summed = x;
    if constexpr (kMistake == Mistake::kRoundedSquares) {
      summed = tile.load(PerElement<const T>(Matrix<const T>(out.view[0])));
    }
    auto square = summed * summed;
    if constexpr (kMistake == Mistake::kPadding) {
      const auto columns = static_cast<int32_t>(out.view[0].columns);
      const auto missing = static_cast<float>((64 - columns % 64) % 64);
      square = square + select(tile.column() == columns - 1, square * missing, square * 0.0f);
    }
    tile.reduce(squares, square);
  }
};

using SwappedSwiglu = Swiglu<bf16, Mistake::kSwapped>;

// z = offset + A Bᵀ + bias, in three segments along N; per row and 128 columns the state of
// log Σ exp z, per column and 64 rows Σ z·sign, with sign -1 in rows whose flag is 0.
struct Segmented {
  Scalar<int32_t> offset;
  PerColumn<const float, 3> bias;
  PerRow<const int64_t> flag;
  Store<float, 3> z;
  RowReduce<LogSumExp, 128> lse;
  Optional<ColumnReduce<Sum>> sums;

  static constexpr auto port_names = names("offset", "bias", "flag", "z", "lse", "sums");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto value = tile.accumulator() + tile.load(bias) + to_float(tile.load(offset));
    tile.store(z, value);
    tile.reduce(lse, value);
    tile.reduce(sums, select(tile.load(flag) == 0, -value, value));
  }
};

// Every head of A Bᵀ over its root mean square, times a weight per column.
struct HeadNorm {
  Paired<PerColumn<const bf16>> weight;
  Paired<Store<bf16>> out;

  static constexpr auto port_names = names("weight", "out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto a = tile.accumulator(0), b = tile.accumulator(1);
    const auto two = to_float(tile.column() * 0) + 2.0f;  // their sum is the width of a head
    const auto scale = rsqrt(tile.group_sum(a * a + b * b) / tile.group_sum(two) + 0.01f);
    const auto w = tile.load(weight);
    tile.store(out, a * scale * w.first, b * scale * w.second);
  }
};

}  // namespace coda::tools
