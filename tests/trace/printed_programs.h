// Derived programs of random ones, as they are printed: printed_test.cpp checks both.
#pragma once
#include "coda/program/angle.h"
#include "coda/program/program.h"

namespace coda {

struct Random3 {
  PerRow<const int64_t> p0;              // [M]
  Scalar<float> p1{0.530245f};           // []
  PerRow<const float> p3;                // [M]
  PerElement<const float> accumulator0;  // [M, N]
  PerRow<const float> dp5;               // [M]
  Store<float> daccumulator0;            // [M, N]
  RowReduce<Sum> dp1;                    // [⌈N/64⌉, M]
  RowReduce<Sum> dp3;                    // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      names("p0", "p1", "p3", "accumulator0", "dp5", "daccumulator0", "dp1", "dp3");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto p = tile.load(p3);
    const auto t = tanh(tile.load(accumulator0));
    const auto p1_value = tile.load(p1);
    const auto value = to_float(tile.load(p0));
    const auto value2 = fma(t, p1_value, min(p1_value, value));
    const auto root = rsqrt(value2 * value2 + 0.5f);
    const auto sum = root * root + 0.5f;
    const auto ratio = p / sum;
    const auto d = tile.load(dp5);
    const auto e = exp(-(ratio * ratio));
    const auto product = -2.2567585f * d * e * p * root / sum / sum * root * root * root * value2;
    tile.store(daccumulator0, -(product * p1_value * (1.0f - t * t)));
    tile.reduce(dp1, select(value < p1_value, 0.0f, -product) - product * t);
    tile.reduce(dp3, d * 1.1283792f * e / sum);
  }
};

struct Random10 {
  PerRow<const float> p1;                // [M]
  PerColumn<const float> p2;             // [N]
  PerElement<const float> accumulator0;  // [M, N]
  PerRow<const float> dp5;               // [M]
  PerRow<const float> p5;                // [M]
  PerColumn<const float> dp6;            // [N]
  Store<float> daccumulator0;            // [M, N]
  RowReduce<Sum> dp1;                    // [⌈N/64⌉, M]
  ColumnReduce<Sum> dp2;                 // [⌈M/64⌉, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      names("p1", "p2", "accumulator0", "dp5", "p5", "dp6", "daccumulator0", "dp1", "dp2");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    const auto p = tile.load(p2);
    const auto sum = p * p + 0.5f;
    const auto value = log(sum);
    const auto a = tile.load(accumulator0);
    const auto mask = a < tile.load(p1);
    const auto t = tanh(a);
    const auto product =
        tile.load(dp5) * exp(min(erf(value) - tile.load(p5), 0.0f)) * exp(-(value * value));
    tile.store(daccumulator0, select(mask, 0.0f, acc) * (1.0f - t * t));
    tile.reduce(dp1, select(mask, acc, 0.0f));
    tile.reduce(dp2, 2.0f * (tile.load(dp6) + 1.1283792f * product) * p / sum);
  }
};

struct Random26 {
  PerRowFrom<ReciprocalRms> p0;         // [parts, M]
  PerElement<const float> p1;           // [M, N]
  PerElement<const float> accumulator;  // [M, N]
  Store<float> daccumulator;            // [M, N]
  RowReduce<Sum> dp0;                   // [⌈N/64⌉, M]
  Store<float> dp1;                     // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names = names("p0", "p1", "accumulator", "daccumulator", "dp0", "dp1");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    const auto t = tanh(1.5f * tile.load(p1));
    const auto s = sigmoid(t);
    const auto product = acc * s;
    const auto product2 =
        acc * (tile.load(p0) + tile.load(accumulator)) * s * (1.0f - s) * (1.0f - t * t);
    tile.store(daccumulator, product);
    tile.reduce(dp0, product);
    tile.store(dp1, 1.5f * product2);
  }
};

struct Random30 {
  PerColumn<const float> p1;  // [N]
  PerRowFrom<Mean> p2;        // [parts, M]
  PerRow<const float> dp3;    // [M]
  PerRow<const float> p3;     // [M]
  PerRow<const float> dp4;    // [M]
  PerRow<const float> p4;     // [M]
  PerRow<const float> dp5;    // [M]
  PerRow<const float> p5;     // [M]
  Store<float> daccumulator;  // [M, N]
  ColumnReduce<Sum> dp1;      // [⌈M/64⌉, N]
  RowReduce<Sum> dp2;         // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      names("p1", "p2", "dp3", "p3", "dp4", "p4", "dp5", "p5", "daccumulator", "dp1", "dp2");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto product = 0.37f * to_float(tile.column());
    const auto p = tile.load(p3);
    const auto mask = tile.accumulator() + tile.load(p1) + product < p - 3.8146973e-06f * abs(p);
    const auto chosen = select(mask, 0.0f, tile.load(dp3));
    const auto p2_value = tile.load(p2);
    const auto p4_value = tile.load(p4);
    const auto chosen2 = select(
        relu(p2_value) + product < p4_value - 3.8146973e-06f * abs(p4_value), 0.0f, tile.load(dp4));
    const auto sum = tile.load(dp5) * exp(min(p2_value - tile.load(p5), 0.0f)) +
                     select(p2_value <= 0.0f, 0.0f, chosen2);
    tile.store(daccumulator, chosen);
    tile.reduce(dp1, chosen);
    tile.reduce(dp2, sum);
  }
};

struct Random56 {
  PerColumn<const float> p0;            // [N]
  PerElement<const float> p1;           // [M, N]
  PerElement<const float> accumulator;  // [M, N]
  PerElement<const float> p4;           // [M, N]
  PerColumn<const float> dp3;           // [N]
  Store<float> daccumulator;            // [M, N]
  ColumnReduce<Sum> dp0;                // [⌈M/64⌉, N]
  Store<float> dp1;                     // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      names("p0", "p1", "accumulator", "p4", "dp3", "daccumulator", "dp0", "dp1");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto p = tile.load(p0);
    const auto value = abs(p);
    const auto mask = tile.load(p1) <= 0.3f && !(abs(value) != 0.0f);
    const auto d = tile.load(dp3);
    const auto acc = tile.accumulator();
    const auto chosen = select(mask, 0.0f, d);
    const auto t = tanh(value);
    const auto a = tile.load(accumulator);
    const auto product = t * a;
    const auto sum = product * product + 0.5f;
    const auto ratio = -2.0f * acc * tile.load(p4) * product / sum;
    const auto sum2 = ratio * a * (1.0f - t * t) + select(value < 0.0f, -chosen, chosen);
    tile.store(daccumulator, acc / sum + ratio * t);
    tile.reduce(dp0, select(p < 0.0f, -sum2, sum2));
    tile.store(dp1, select(mask, d, 0.0f));
  }
};

}  // namespace coda
