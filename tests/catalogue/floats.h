// Matrices of floats for programs, and random ones that fp64 evaluations start from too.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "coda/core/view.h"
#include "coda/reference/array.h"

namespace coda::catalogue {

struct Floats {
  int64_t rows, columns;
  std::vector<float> values;

  Floats(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns), NAN) {}
  explicit Floats(const reference::Array& from) : Floats(from.rows, from.columns) {
    std::ranges::transform(from.values, values.begin(),
                           [](double v) { return static_cast<float>(v); });
  }
  Matrix<float> view() { return {values.data(), rows, columns}; }
  Matrix<const float> view() const { return {values.data(), rows, columns}; }
};

inline reference::Array random_array(int64_t rows, int64_t columns, double scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  // In floats, so that programs and fp64 start from the same numbers.
  return map(reference::Array(rows, columns),
             [&](double) { return double(float(normal(random))); });
}

}  // namespace coda::catalogue
