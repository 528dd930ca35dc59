// Programs that between them use every kind of port and option; the files *_cpu.cpp beside
// instantiate them.
#pragma once
#include "coda/program/program.h"
#include "tests/program/reductions.h"

namespace coda::cpu {

template <class T>
struct Product {  // the accumulator itself
  Store<T> out;   // [M, N]
  static constexpr const char* name = "product";
  static constexpr auto port_names = names("out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

template <class T>
struct Scaled {  // α·acc + β·c; c may be out itself
  Scalar<float> alpha, beta;
  PerElement<const T> c;  // [M, N]
  Store<T> out;           // [M, N]
  static constexpr const char* name = "scaled";
  static constexpr auto port_names = names("alpha", "beta", "c", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, fma(tile.load(alpha), tile.accumulator(), tile.load(beta) * tile.load(c)));
  }
};

struct EveryInput {  // sums of everything that can be loaded; large indices arrive saturated
  Scalar<float> factor;
  Scalar<int32_t> shift;
  PerRow<const float> row_float;       // [M]
  PerRow<const int32_t> row_integer;   // [M]
  PerRow<const int64_t> row_index;     // [M]
  PerColumn<const bf16> column_half;   // [N]
  PerColumn<const float> column_full;  // [N]
  PerElement<const fp16> element;      // [M, N]
  Store<float> sum;                    // [M, N]
  Store<bf16> rounded;                 // [M, N]
  Store<fp16> index;                   // [M, N]
  static constexpr const char* name = "every_input";
  static constexpr auto port_names =
      names("factor", "shift", "row_float", "row_integer", "row_index", "column_half",
            "column_full", "element", "sum", "rounded", "index");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto y = tile.accumulator() * tile.load(factor) + tile.load(row_float) +
                   to_float(tile.load(row_integer) * tile.load(shift)) +
                   tile.load(column_half) * tile.load(column_full) + tile.load(element);
    tile.store(sum, y);
    tile.store(rounded, y);
    const auto at = tile.load(row_index);
    constexpr int32_t kLow = stdlib::numeric_limits<int32_t>::min();
    constexpr int32_t kHigh = stdlib::numeric_limits<int32_t>::max();
    tile.store(index, select(at == kHigh, 1000.0f, select(at == kLow, -1000.0f, to_float(at))));
  }
};

struct WithOptional {                 // y = acc·row + column + element + scalar + to_float(integer)
  Optional<PerRow<const float>> row;  // [M]
  Optional<PerColumn<const float>> column;    // [N]
  Optional<PerElement<const float>> element;  // [M, N]
  Optional<Scalar<float>> scalar;
  Optional<PerRow<const int64_t>> integer;   // [M]
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]
  Optional<Store<float>> copy;               // [M, N]
  Optional<RowReduce<Sum>> rows;             // [⌈N/64⌉, M]
  Optional<ColumnReduce<Sum>> columns;       // [⌈M/64⌉, N]
  Store<float> out;                          // [M, N]
  static constexpr const char* name = "with_optional";
  static constexpr auto port_names = names("row", "column", "element", "scalar", "integer", "rstd",
                                           "copy", "rows", "columns", "out");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto y = tile.accumulator() * tile.load(row, 2.0f) * tile.load(rstd, 1.0f) +
                   tile.load(column, 3.0f) + tile.load(element, 5.0f) + tile.load(scalar, 7.0f) +
                   to_float(tile.load(integer, -11.0f));
    tile.store(out, y);
    tile.store(copy, y + 1.0f);
    tile.reduce(rows, y);
    tile.reduce(columns, y);
  }
};

struct Reduced {                       // all reductions of the accumulator
  RowReduce<Sum> row_sum;              // [⌈N/64⌉, M]
  RowReduce<Max, 128> row_max;         // [⌈N/128⌉, M]
  RowReduce<LogSumExp> row_lse;        // [⌈N/64⌉, M]
  RowReduce<Spread, 128> row_all;      // [⌈N/128⌉, M]
  ColumnReduce<Sum> column_sum;        // [⌈M/64⌉, N]
  ColumnReduce<LogSumExp> column_lse;  // [⌈M/64⌉, N]
  ColumnReduce<Spread> column_all;     // [⌈M/64⌉, N]
  static constexpr const char* name = "reduced";
  static constexpr auto port_names =
      names("row_sum", "row_max", "row_lse", "row_all", "column_sum", "column_lse", "column_all");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator();
    tile.reduce(row_sum, x);
    tile.reduce(row_max, x);
    tile.reduce(row_lse, x);
    tile.reduce(row_all, x);
    tile.reduce(column_sum, x);
    tile.reduce(column_lse, x);
    tile.reduce(column_all, x);
  }
};

// The statistics of cross-entropy, columns from `vocabulary` on masked; causal: -1 above the
// diagonal.
struct Targets {
  PerRow<const int64_t> target;  // [M]
  Scalar<int32_t> vocabulary;
  RowReduce<SmoothedLogSumExp, 128> statistics;  // [⌈N/128⌉, M]
  Store<float> causal;                           // [M, N]
  static constexpr const char* name = "targets";
  static constexpr auto port_names = names("target", "vocabulary", "statistics", "causal");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto x = tile.accumulator();
    const auto column = tile.column();
    const auto chosen = column == tile.load(target) && column < tile.load(vocabulary);
    tile.reduce(statistics, select(column < tile.load(vocabulary), x, 0.0f),
                select(chosen, x, 0.0f));
    tile.store(causal, select(column <= tile.row(), x, -1.0f));
  }
};

}  // namespace coda::cpu
