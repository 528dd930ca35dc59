// Gradients of a loss in fp64, by steps to both sides.
#pragma once
#include <gtest/gtest.h>

#include "tests/catalogue/floats.h"

namespace coda::catalogue {

inline double sum_of(const reference::Array& values) {
  double sum = 0;
  for (const double v : values.values) sum += v;
  return sum;
}

// got: what `loss` gains by each number of the parameter, from which it is computed.
template <class Loss>
void expect_gradient(const char* name, reference::Array& parameter, const Floats& got,
                     Loss&& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(got.values.size(), parameter.values.size()) << name;
  const size_t step = got.values.size() > 1000 ? 7 : 1;  // of a weight one in so many
  for (size_t i = 0; i < got.values.size(); i += step) {
    const double value = parameter.values[i];
    parameter.values[i] = value + kStep;
    const double above = loss();
    parameter.values[i] = value - kStep;
    const double below = loss();
    parameter.values[i] = value;
    ASSERT_NEAR(got.values[i], (above - below) / (2 * kStep), 3e-5) << name << " " << i;
  }
}

}  // namespace coda::catalogue
