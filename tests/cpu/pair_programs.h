// Programs with segments, two accumulators and group sums.
#pragma once
#include "coda/program/program.h"
#include "tests/program/reductions.h"

namespace coda::cpu {

struct ColumnSegments {                // q, k, v: (segment + 1)·acc + column + bias + element
  PerColumn<const float, 3> bias;      // [Ni]
  PerElement<const float, 3> element;  // [M, Ni]
  PerColumn<const float> whole;        // [N], in one piece
  Store<float, 3> out;                 // [M, Ni]
  Store<float> all;                    // [M, N]
  RowReduce<Sum> sums;                 // [Σ⌈Ni/64⌉, M]
  ColumnReduce<Sum> column_sums;       // [⌈M/64⌉, N]
  static constexpr const char* name = "column_segments";
  static constexpr auto port_names =
      names("bias", "element", "whole", "out", "all", "sums", "column_sums");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto y = tile.accumulator() * (tile.segment() + 1) + to_float(tile.column()) +
                   tile.load(bias) + tile.load(element);
    tile.store(out, y);
    tile.store(all, y * tile.load(whole));
    tile.reduce(sums, y);
    tile.reduce(column_sums, y);
  }
};

struct RowSegments {               // dWq, dWk: (segment + 1)·acc·scale + row
  PerRow<const float, 2> scale;    // [Mi]
  PerRow<const float> whole;       // [M], in one piece
  PerRowFrom<ReciprocalRms> rstd;  // [parts, M]
  Store<float, 2> out;             // [Mi, N]
  Store<float> all;                // [M, N]
  RowReduce<Sum> sums;             // [⌈N/64⌉, M]
  ColumnReduce<Sum> column_sums;   // [Σ⌈Mi/64⌉, N]
  static constexpr const char* name = "row_segments";
  static constexpr auto port_names =
      names("scale", "whole", "rstd", "out", "all", "sums", "column_sums");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto y =
        tile.accumulator() * tile.load(scale) * (tile.segment() + 1) + to_float(tile.row());
    tile.store(out, y);
    tile.store(all, y + tile.load(whole) * tile.load(rstd));
    tile.reduce(sums, y);
    tile.reduce(column_sums, y);
  }
};

struct Gated {           // first·second and their sum
  Store<float> product;  // [M, N]
  Store<float> sum;      // [M, N]
  RowReduce<Sum> rows;   // [⌈N/64⌉, M]
  static constexpr const char* name = "gated";
  static constexpr auto port_names = names("product", "sum", "rows");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto g = tile.accumulator(0), u = tile.accumulator(1);
    tile.store(product, g * u);
    tile.store(sum, g + u);
    tile.reduce(rows, g - u);
  }
};

// (a, b) → (a·c - b·s, b·c + a·s) + residual with (c, s) = table, heads of which a and b are the
// halves.
struct Rotated {
  Paired<PerColumn<const float>> table;               // [2N]
  Optional<Paired<PerElement<const bf16>>> residual;  // [M, 2N]
  Paired<Store<float>> out;                           // [M, 2N]
  Optional<Store<float>> first;                       // [M, N]
  Optional<RowReduce<Sum>> squares;                   // [⌈N/64⌉, M]
  static constexpr const char* name = "rotated";
  static constexpr auto port_names = names("table", "residual", "out", "first", "squares");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto a = tile.accumulator(0), b = tile.accumulator(1);
    const auto t = tile.load(table);
    const auto r = tile.load(residual, 1.0f);
    const auto x = a * t.first - b * t.second + r.first, y = b * t.first + a * t.second + r.second;
    tile.store(out, x, y);
    tile.store(first, x);
    tile.reduce(squares, x + y);
  }
};

struct RotatedSegments {        // q and k rotated by a quarter turn, v (segment 2) as it is
  Paired<Store<float, 3>> out;  // [M, 2·Ni]
  static constexpr const char* name = "rotated_segments";
  static constexpr auto port_names = names("out");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto a = tile.accumulator(0), b = tile.accumulator(1);
    if (tile.segment() == 2) {
      tile.store(out, a, b);
    } else {
      tile.store(out, -b, a);
    }
  }
};

struct HeadNorm {                // s = Σ over a head of a² + b²; (a·s + column, b - s)
  Paired<Store<float>> out;      // [M, 2N]
  Store<float> sums;             // [M, N]: s of the head that a column belongs to
  ColumnReduce<Sum> columns;     // [⌈M/64⌉, N]: Σ over rows of a
  ColumnReduce<Spread> moments;  // [⌈M/64⌉, N]
  static constexpr const char* name = "head_norm";
  static constexpr auto port_names = names("out", "sums", "columns", "moments");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto a = tile.accumulator(0), b = tile.accumulator(1);
    const auto s = tile.group_sum(a * a) + tile.group_sum(b * b);
    tile.store(out, a * s + to_float(tile.column()), b - s);
    tile.store(sums, s);
    tile.reduce(columns, a);
    tile.reduce(moments, b);
  }
};

}  // namespace coda::cpu
