// Derived programs of random ones, as they are printed: printed_test.cpp checks both.
#pragma once
#include "coda/program/angle.h"
#include "coda/program/program.h"

namespace coda {

struct Random41 {
  coda::PerColumn<const float> dp0;  // [N]
  coda::PerColumn<const float> dp1;  // [N]
  coda::PerRow<const float> dp2;     // [M]
  coda::PerRow<const float> p2;      // [M]
  coda::Store<float> daccumulator0;  // [M, N]
  coda::Store<float> daccumulator1;  // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("dp0", "dp1", "dp2", "p2", "daccumulator0", "daccumulator1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto t = coda::tanh(tile.accumulator(0));
    const auto d = tile.load(dp0);
    const auto acc = tile.accumulator(1);
    const auto value = coda::erf(acc);
    const auto mask = acc <= 0.3f || !(value != 0.0f);
    const auto e = coda::exp(coda::min(coda::select(mask, acc, value) - tile.load(p2), 0.0f));
    const auto product = tile.load(dp2) * e;
    const auto sum = coda::select(mask, product, 0.0f) +
                     1.1283792f * coda::select(mask, 0.0f, product) * coda::exp(-(acc * acc));
    tile.store(daccumulator0, d + (tile.load(dp1) + d) * coda::exp(t) * (1.0f - t * t));
    tile.store(daccumulator1, sum);
  }
};

struct Random51 {
  coda::PairTable<const float> p0;                // [rows, head_dim/2] twice
  coda::PerRow<const float> p1;                   // [M]
  coda::PerColumn<const float> dp3;               // [N]
  coda::Paired<coda::Store<float>> daccumulator;  // [M, 2N]
  coda::RowReduce<coda::Sum> dp1;                 // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = coda::names("p0", "p1", "dp3", "daccumulator", "dp1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto sum = tile.load(p1) + tile.accumulator(0);
    const auto t = coda::tanh(-sum);
    const auto looked_up = tile.lookup(p0, tile.row());
    const auto product =
        tile.load(dp3) * coda::sigmoid(coda::tanh(looked_up.second)) * (t - sum * (1.0f - t * t));
    tile.store(daccumulator, product, 0.0f);
    tile.reduce(dp1, product);
  }
};

struct Random55 {
  coda::PerHead<const float> p0;                   // [head_dim/2]
  coda::PerRowFrom<coda::ReciprocalRms> p1;        // [parts, M]
  coda::Paired<coda::PerElement<const float>> p2;  // [M, 2N]
  coda::PerColumn<const float> dp3;                // [N]
  coda::Paired<coda::Store<float>> daccumulator;   // [M, 2N]
  coda::ColumnReduce<coda::Sum> dp0;               // [⌈M/64⌉, N]
  coda::RowReduce<coda::Sum> dp1;                  // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p0", "p1", "p2", "dp3", "daccumulator", "dp0", "dp1");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator(0);
    const auto value = coda::to_float(tile.row());
    const auto p = tile.load(p0);
    const auto turn = coda::rotation(value, p);
    const auto p2_value = tile.load(p2);
    const auto mask = turn.cosine <= 0.3f && !(p2_value.second != 0.0f);
    const auto d = tile.load(dp3);
    const auto mask2 = turn.sine <= 0.3f && !(tile.load(p1) != 0.0f);
    const auto mask3 = coda::select(mask, turn.cosine, p2_value.second) < turn.cosine;
    const auto chosen = coda::select(mask3, d, 0.0f);
    const auto product =
        (coda::select(mask3, 0.0f, d) + coda::select(mask, chosen, 0.0f)) * turn.sine;
    tile.store(daccumulator, 0.0f, tile.accumulator(1) + coda::select(mask, 0.0f, chosen));
    tile.reduce(dp0, value * (coda::select(mask2, acc, 0.0f) * turn.cosine - product));
    tile.reduce(dp1, coda::select(mask2, 0.0f, acc));
  }
};

struct Random58 {
  coda::Paired<coda::PerElement<const float>> p0;  // [M, 2N]
  coda::PerElement<const float> accumulator1;      // [M, N]
  coda::PerColumn<const float> dp2;                // [N]
  coda::Paired<coda::Store<float>> daccumulator;   // [M, 2N]
  coda::Paired<coda::Store<float>> dp0;            // [M, 2N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p0", "accumulator1", "dp2", "daccumulator", "dp0");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator(0);
    const auto acc2 = tile.accumulator(1);
    const auto p = tile.load(p0);
    const auto t = coda::tanh(p.second);
    const auto t2 = coda::tanh(tile.load(accumulator1));
    const auto t3 = coda::tanh(tile.group_sum(0.5f * t2));
    const auto s = coda::sigmoid(t3);
    const auto head_sum =
        tile.group_sum(acc * coda::erf(p.second) * s * (1.0f - s) * (1.0f - t3 * t3));
    const auto chosen =
        coda::select(p.second < 0.0f, -acc2, coda::select(0.0f < p.second, acc2, 0.0f));
    const auto sum = tile.load(dp2) * coda::exp(t) * (1.0f - t * t) +
                     1.1283792f * acc * s * coda::exp(-(p.second * p.second));
    tile.store(daccumulator, 0.0f, 0.5f * head_sum * (1.0f - t2 * t2));
    tile.store(dp0, 0.0f, sum + chosen);
  }
};

struct Random119 {
  coda::PerColumn<const float> dp0;               // [N]
  coda::PerColumn<const float> dp1;               // [N]
  coda::Paired<coda::Store<float>> daccumulator;  // [M, 2N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = coda::names("dp0", "dp1", "daccumulator");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto t = coda::tanh(tile.accumulator(0));
    const auto e = coda::exp(t);
    const auto t2 = coda::tanh(e);
    const auto head_sum = tile.group_sum(0.5f * t2);
    const auto acc = tile.accumulator(1);
    const auto d = tile.load(dp1);
    const auto mask = coda::min(e, acc) < acc;
    const auto chosen = coda::select(mask, 0.0f, d);
    const auto mask2 = acc < e;
    const auto head_sum2 =
        tile.group_sum(tile.load(dp0) * head_sum / coda::sqrt(head_sum * head_sum + 0.5f));
    const auto product =
        (coda::select(mask2, 0.0f, chosen) + 0.5f * head_sum2 * (1.0f - t2 * t2)) * e;
    tile.store(daccumulator, product * (1.0f - t * t),
               coda::select(mask, d, 0.0f) + coda::select(mask2, chosen, 0.0f));
  }
};

}  // namespace coda
