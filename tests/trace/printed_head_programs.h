// Derived programs of random ones, as they are printed: printed_test.cpp checks both.
#pragma once
#include "coda/program/angle.h"
#include "coda/program/program.h"

namespace coda {

struct Random41 {
  PerColumn<const float> dp0;  // [N]
  PerColumn<const float> dp1;  // [N]
  PerRow<const float> dp2;     // [M]
  PerRow<const float> p2;      // [M]
  Store<float> daccumulator0;  // [M, N]
  Store<float> daccumulator1;  // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      names("dp0", "dp1", "dp2", "p2", "daccumulator0", "daccumulator1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto t = tanh(tile.accumulator(0));
    const auto d = tile.load(dp0);
    const auto acc = tile.accumulator(1);
    const auto value = erf(acc);
    const auto mask = acc <= 0.3f || !(value != 0.0f);
    const auto product = tile.load(dp2) * exp(min(select(mask, acc, value) - tile.load(p2), 0.0f));
    const auto sum =
        select(mask, product, 0.0f) + 1.1283792f * select(mask, 0.0f, product) * exp(-(acc * acc));
    tile.store(daccumulator0, d + (tile.load(dp1) + d) * exp(t) * (1.0f - t * t));
    tile.store(daccumulator1, sum);
  }
};

struct Random51 {
  PairTable<const float> p0;          // [rows, head_dim/2] twice
  PerRow<const float> p1;             // [M]
  PerColumn<const float> dp3;         // [N]
  Paired<Store<float>> daccumulator;  // [M, 2N]
  RowReduce<Sum> dp1;                 // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = names("p0", "p1", "dp3", "daccumulator", "dp1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto sum = tile.load(p1) + tile.accumulator(0);
    const auto t = tanh(-sum);
    const auto looked_up = tile.lookup(p0, tile.row());
    const auto product =
        tile.load(dp3) * sigmoid(tanh(looked_up.second)) * (t - sum * (1.0f - t * t));
    tile.store(daccumulator, product, 0.0f);
    tile.reduce(dp1, product);
  }
};

struct Random55 {
  PerHead<const float> p0;             // [head_dim/2]
  PerRowFrom<ReciprocalRms> p1;        // [parts, M]
  Paired<PerElement<const float>> p2;  // [M, 2N]
  PerColumn<const float> dp3;          // [N]
  Paired<Store<float>> daccumulator;   // [M, 2N]
  ColumnReduce<Sum> dp0;               // [⌈M/64⌉, N]
  RowReduce<Sum> dp1;                  // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = names("p0", "p1", "p2", "dp3", "daccumulator", "dp0", "dp1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator(0);
    const auto value = to_float(tile.row());
    const auto p = tile.load(p0);
    const auto turn = rotation(value, p);
    const auto p2_value = tile.load(p2);
    const auto mask = turn.cosine <= 0.3f && !(p2_value.second != 0.0f);
    const auto d = tile.load(dp3);
    const auto mask2 = turn.sine <= 0.3f && !(tile.load(p1) != 0.0f);
    const auto mask3 = select(mask, turn.cosine, p2_value.second) < turn.cosine;
    const auto chosen = select(mask3, d, 0.0f);
    const auto sum = select(mask2, acc, 0.0f) * turn.cosine -
                     (select(mask3, 0.0f, d) + select(mask, chosen, 0.0f)) * turn.sine;
    tile.store(daccumulator, 0.0f, tile.accumulator(1) + select(mask, 0.0f, chosen));
    tile.reduce(dp0, value * sum);
    tile.reduce(dp1, select(mask2, 0.0f, acc));
  }
};

struct Random58 {
  Paired<PerElement<const float>> p0;    // [M, 2N]
  PerElement<const float> accumulator1;  // [M, N]
  PerColumn<const float> dp2;            // [N]
  Paired<Store<float>> daccumulator;     // [M, 2N]
  Paired<Store<float>> dp0;              // [M, 2N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = names("p0", "accumulator1", "dp2", "daccumulator", "dp0");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator(0);
    const auto acc2 = tile.accumulator(1);
    const auto p = tile.load(p0);
    const auto t = tanh(p.second);
    const auto t2 = tanh(tile.load(accumulator1));
    const auto t3 = tanh(tile.group_sum(0.5f * t2));
    const auto s = sigmoid(t3);
    const auto product =
        0.5f * tile.group_sum(acc * erf(p.second) * s * (1.0f - s) * (1.0f - t3 * t3));
    const auto sum = tile.load(dp2) * exp(t) * (1.0f - t * t) +
                     1.1283792f * acc * s * exp(-(p.second * p.second));
    tile.store(daccumulator, 0.0f, product * (1.0f - t2 * t2));
    tile.store(dp0, 0.0f, sum + select(p.second < 0.0f, -acc2, acc2));
  }
};

struct Random119 {
  PerColumn<const float> dp0;         // [N]
  PerColumn<const float> dp1;         // [N]
  Paired<Store<float>> daccumulator;  // [M, 2N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = names("dp0", "dp1", "daccumulator");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto t = tanh(tile.accumulator(0));
    const auto e = exp(t);
    const auto t2 = tanh(e);
    const auto head_sum = tile.group_sum(0.5f * t2);
    const auto acc = tile.accumulator(1);
    const auto d = tile.load(dp1);
    const auto mask = min(e, acc) < acc;
    const auto chosen = select(mask, 0.0f, d);
    const auto mask2 = acc < e;
    const auto head_sum2 =
        tile.group_sum(tile.load(dp0) * head_sum / sqrt(head_sum * head_sum + 0.5f));
    const auto product =
        (select(mask2, 0.0f, chosen) + 0.5f * head_sum2 * (1.0f - t2 * t2)) * e * (1.0f - t * t);
    tile.store(daccumulator, product, select(mask, d, 0.0f) + select(mask2, chosen, 0.0f));
  }
};

}  // namespace coda
