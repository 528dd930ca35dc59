// Derived programs of random ones, as they are printed: printed_test.cpp checks both.
#pragma once
#include "coda/program/angle.h"
#include "coda/program/program.h"

namespace coda {

struct Random3 {
  coda::PerRow<const int64_t> p0;              // [M]
  coda::Scalar<float> p1{0.530245f};           // []
  coda::PerRow<const float> p3;                // [M]
  coda::PerElement<const float> accumulator0;  // [M, N]
  coda::PerRow<const float> dp5;               // [M]
  coda::Store<float> daccumulator0;            // [M, N]
  coda::RowReduce<coda::Sum> dp1;              // [⌈N/64⌉, M]
  coda::RowReduce<coda::Sum> dp3;              // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p0", "p1", "p3", "accumulator0", "dp5", "daccumulator0", "dp1", "dp3");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto p = tile.load(p3);
    const auto t = coda::tanh(tile.load(accumulator0));
    const auto p1_value = tile.load(p1);
    const auto value = coda::to_float(tile.load(p0));
    const auto value2 = coda::fma(t, p1_value, coda::min(p1_value, value));
    const auto root = coda::rsqrt(value2 * value2 + 0.5f);
    const auto sum = root * root + 0.5f;
    const auto ratio = p / sum;
    const auto d = tile.load(dp5);
    const auto e = coda::exp(-(ratio * ratio));
    const auto product = -2.2567585f * d * e * p * root / sum / sum * root * root * root * value2;
    tile.store(daccumulator0, -(product * p1_value * (1.0f - t * t)));
    tile.reduce(dp1, coda::select(value < p1_value, 0.0f, -product) - product * t);
    tile.reduce(dp3, d * 1.1283792f * e / sum);
  }
};

struct Random10 {
  coda::PerRow<const float> p1;                // [M]
  coda::PerColumn<const float> p2;             // [N]
  coda::PerElement<const float> accumulator0;  // [M, N]
  coda::PerRow<const float> dp5;               // [M]
  coda::PerRow<const float> p5;                // [M]
  coda::PerColumn<const float> dp6;            // [N]
  coda::Store<float> daccumulator0;            // [M, N]
  coda::RowReduce<coda::Sum> dp1;              // [⌈N/64⌉, M]
  coda::ColumnReduce<coda::Sum> dp2;           // [⌈M/64⌉, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p1", "p2", "accumulator0", "dp5", "p5", "dp6", "daccumulator0", "dp1", "dp2");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    const auto p = tile.load(p2);
    const auto sum = p * p + 0.5f;
    const auto value = coda::log(sum);
    const auto product =
        tile.load(dp5) * coda::exp(coda::min(coda::erf(value) - tile.load(p5), 0.0f));
    const auto a = tile.load(accumulator0);
    const auto mask = a < tile.load(p1);
    const auto t = coda::tanh(a);
    const auto product2 = (tile.load(dp6) + 1.1283792f * product * coda::exp(-(value * value))) * p;
    tile.store(daccumulator0, coda::select(mask, 0.0f, acc) * (1.0f - t * t));
    tile.reduce(dp1, coda::select(mask, acc, 0.0f));
    tile.reduce(dp2, 2.0f * product2 / sum);
  }
};

struct Random26 {
  coda::PerRowFrom<coda::ReciprocalRms> p0;   // [parts, M]
  coda::PerElement<const float> p1;           // [M, N]
  coda::PerElement<const float> accumulator;  // [M, N]
  coda::Store<float> daccumulator;            // [M, N]
  coda::RowReduce<coda::Sum> dp0;             // [⌈N/64⌉, M]
  coda::Store<float> dp1;                     // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p0", "p1", "accumulator", "daccumulator", "dp0", "dp1");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto acc = tile.accumulator();
    const auto t = coda::tanh(1.5f * tile.load(p1));
    const auto s = coda::sigmoid(t);
    const auto product = acc * s;
    const auto a = tile.load(accumulator);
    tile.store(daccumulator, product);
    tile.reduce(dp0, product);
    tile.store(dp1, 1.5f * acc * (tile.load(p0) + a) * s * (1.0f - s) * (1.0f - t * t));
  }
};

struct Random30 {
  coda::PerColumn<const float> p1;    // [N]
  coda::PerRowFrom<coda::Mean> p2;    // [parts, M]
  coda::PerRow<const float> dp3;      // [M]
  coda::PerRow<const float> p3;       // [M]
  coda::PerRow<const float> dp4;      // [M]
  coda::PerRow<const float> p4;       // [M]
  coda::PerRow<const float> dp5;      // [M]
  coda::PerRow<const float> p5;       // [M]
  coda::Store<float> daccumulator;    // [M, N]
  coda::ColumnReduce<coda::Sum> dp1;  // [⌈M/64⌉, N]
  coda::RowReduce<coda::Sum> dp2;     // [⌈N/64⌉, M]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p1", "p2", "dp3", "p3", "dp4", "p4", "dp5", "p5", "daccumulator", "dp1", "dp2");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto product = 0.37f * coda::to_float(tile.column());
    const auto p = tile.load(p3);
    const auto mask =
        tile.accumulator() + tile.load(p1) + product < p - 3.8146973e-06f * coda::abs(p);
    const auto chosen = coda::select(mask, 0.0f, tile.load(dp3));
    const auto p2_value = tile.load(p2);
    const auto p4_value = tile.load(p4);
    const auto mask2 =
        coda::relu(p2_value) + product < p4_value - 3.8146973e-06f * coda::abs(p4_value);
    const auto chosen2 =
        coda::select(p2_value <= 0.0f, 0.0f, coda::select(mask2, 0.0f, tile.load(dp4)));
    const auto sum =
        tile.load(dp5) * coda::exp(coda::min(p2_value - tile.load(p5), 0.0f)) + chosen2;
    tile.store(daccumulator, chosen);
    tile.reduce(dp1, chosen);
    tile.reduce(dp2, sum);
  }
};

struct Random56 {
  coda::PerColumn<const float> p0;            // [N]
  coda::PerElement<const float> p1;           // [M, N]
  coda::PerElement<const float> accumulator;  // [M, N]
  coda::PerElement<const float> p4;           // [M, N]
  coda::PerColumn<const float> dp3;           // [N]
  coda::Store<float> daccumulator;            // [M, N]
  coda::ColumnReduce<coda::Sum> dp0;          // [⌈M/64⌉, N]
  coda::Store<float> dp1;                     // [M, N]

  static constexpr const char* name = "random_program_backward";
  static constexpr auto port_names =
      coda::names("p0", "p1", "accumulator", "p4", "dp3", "daccumulator", "dp0", "dp1");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto p = tile.load(p0);
    const auto value = coda::abs(p);
    const auto mask = tile.load(p1) <= 0.3f && !(coda::abs(value) != 0.0f);
    const auto d = tile.load(dp3);
    const auto acc = tile.accumulator();
    const auto chosen = coda::select(mask, 0.0f, d);
    const auto t = coda::tanh(value);
    const auto a = tile.load(accumulator);
    const auto product = t * a;
    const auto sum = product * product + 0.5f;
    const auto ratio = -2.0f * acc * tile.load(p4) * product / sum;
    const auto chosen2 =
        coda::select(value < 0.0f, -chosen, coda::select(0.0f < value, chosen, 0.0f));
    const auto sum2 = ratio * a * (1.0f - t * t) + chosen2;
    tile.store(daccumulator, acc / sum + ratio * t);
    tile.reduce(dp0, coda::select(p < 0.0f, -sum2, coda::select(0.0f < p, sum2, 0.0f)));
    tile.store(dp1, coda::select(mask, d, 0.0f));
  }
};

}  // namespace coda
