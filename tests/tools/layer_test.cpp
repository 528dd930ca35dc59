// A whole layer: the fp64 gradients agree with differences of the fp64 forward pass, and what the
// catalogue's operations give agrees with them.
#include <gtest/gtest.h>

#include <cmath>

#include "coda/core/error.h"
#include "coda/core/random.h"
#include "coda/tools/layer_check.h"
#include "coda/tools/layer_reference.h"

namespace coda::tools {
namespace {

using reference::Array;
using reference::Arrays;

constexpr LayerSizes kSmall = {5, 12, 10, 3, 1, 4};

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

// What the incoming gradients are the gradients of.
double loss(const Arrays& in) {
  const Arrays out = layer_reference(in);
  return dot(out.at("x2"), in.at("dx2")) + dot(out.at("q"), in.at("dq")) +
         dot(out.at("k"), in.at("dk")) + dot(out.at("v"), in.at("dv"));
}

class LayerGradient : public testing::TestWithParam<const char*> {};

TEST_P(LayerGradient, IsThatOfTheForwardPass) {
  const std::string name = GetParam();
  const Arrays in = draw_layer(kSmall, DType::kFp32, 3);
  const Array gradient = layer_reference(in).at("d" + name);
  const Array& value = in.at(name);
  ASSERT_EQ(gradient.rows, value.rows);
  ASSERT_EQ(gradient.columns, value.columns);
  Random random(7);
  constexpr double kStep = 1e-4;
  for (int direction = 0; direction < 5; ++direction) {
    const Array along =
        map(Array(value.rows, value.columns), [&](double) { return random.normal(); });
    const auto moved = [&](double by) {
      Arrays other = in;
      other[name] = value + along * by;
      return loss(other);
    };
    // Five points: the error of the differences is of order kStep^4.
    const double slope =
        (8 * (moved(kStep) - moved(-kStep)) - (moved(2 * kStep) - moved(-2 * kStep))) /
        (12 * kStep);
    const double scale = std::sqrt(dot(gradient, gradient) * dot(along, along));
    EXPECT_NEAR(slope, dot(gradient, along), 1e-8 * scale) << "direction " << direction;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInput, LayerGradient,
                         testing::Values("y", "x", "wo", "wg", "wu", "wd", "wq", "wk", "wv",
                                         "gamma1", "gamma2"),
                         [](const auto& test) { return test.param; });

TEST(Layer, AgreesWithFp64) {
  const CheckResult result = check_layer("cpu", 1);
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
  EXPECT_GT(result.passed, 0);
}

TEST(Layer, RunsOnNothingElse) { EXPECT_THROW(check_layer("sim", 1), Error); }

}  // namespace
}  // namespace coda::tools
