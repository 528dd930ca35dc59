// The activations: fp64 derivatives against differences of fp64 values, and what programs compute
// against both.
#include "coda/catalogue/activation.h"

#include <gtest/gtest.h>

#include <array>

#include "coda/catalogue/activation_reference.h"
#include "tests/program/scalar_layout.h"

namespace coda::catalogue {
namespace {

constexpr std::array kActivations{Activation::kSilu, Activation::kGelu, Activation::kGeluTanh,
                                  Activation::kRelu};

ActivationFormula formula_of(Activation activation) {
  return activation_formula({{"activation", static_cast<double>(activation)}});
}

// Both sides of 0, where relu has no derivative, and of ±1, where the others bend most.
constexpr std::array kPoints{-12.0, -4.5, -2.0, -1.1, -0.7, -0.01, 0.01, 0.3, 0.9, 1.5, 3.0, 12.0};

TEST(Activation, SlopesAreDerivatives) {
  constexpr double kStep = 1e-5;
  for (const Activation activation : kActivations) {
    const ActivationFormula f = formula_of(activation);
    for (const double x : kPoints) {
      const double difference = (f.value(x + kStep) - f.value(x - kStep)) / (2 * kStep);
      EXPECT_NEAR(f.slope(x), difference, 1e-9) << static_cast<int>(activation) << " at " << x;
    }
  }
}

TEST(Activation, ProgramsFollowTheFormulas) {
  for (const Activation activation : kActivations) {
    const ActivationFormula f = formula_of(activation);
    for (const double point : kPoints) {
      const auto x = static_cast<float>(point);
      const double floor = 0x1p-21 * (1 + std::abs(point));
      const float value = activate(activation, fragment<OneValue>({x})).lane[0];
      EXPECT_NEAR(value, f.value(x), floor) << static_cast<int>(activation) << " at " << x;
      const auto both = activate_with_slope<false>(activation, fragment<OneValue>({x}));
      EXPECT_NEAR(both.value.lane[0], f.value(x), floor) << static_cast<int>(activation);
      EXPECT_NEAR(both.slope.lane[0], f.slope(x), 4 * floor)
          << static_cast<int>(activation) << " at " << x;
      const auto precise = activate_with_slope<true>(activation, fragment<OneValue>({x}));
      EXPECT_NEAR(precise.value.lane[0], f.value(x), floor) << static_cast<int>(activation);
      EXPECT_NEAR(precise.slope.lane[0], f.slope(x), 0x1p-22)
          << static_cast<int>(activation) << " at " << x;
    }
  }
}

TEST(Activation, IdentityKeepsItsArgument) {
  const ActivationFormula f = formula_of(Activation::kIdentity);
  for (const double point : kPoints) {
    const auto x = fragment<OneValue>({static_cast<float>(point)});
    EXPECT_EQ(f.value(point), point);
    EXPECT_EQ(f.slope(point), 1);
    EXPECT_EQ(activate_or_keep(Activation::kIdentity, x).lane[0], x.lane[0]);
    const auto both = activate_or_keep_with_slope<false>(Activation::kIdentity, x);
    EXPECT_EQ(both.value.lane[0], x.lane[0]);
    EXPECT_EQ(both.slope.lane[0], 1);
    for (const Activation other : kActivations) {  // as without it
      EXPECT_EQ(activate_or_keep(other, x).lane[0], activate(other, x).lane[0]);
    }
  }
}

TEST(Activation, KnownValues) {
  EXPECT_NEAR(formula_of(Activation::kSilu).value(1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(formula_of(Activation::kGelu).value(1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(formula_of(Activation::kGeluTanh).value(1), 0.8411919906082768, 1e-15);
  EXPECT_EQ(formula_of(Activation::kRelu).value(-1), 0);
  EXPECT_EQ(formula_of(Activation::kRelu).slope(0), 0);  // as frameworks have it
  EXPECT_EQ(activate_with_slope<true>(Activation::kRelu, fragment<OneValue>({0.0f})).slope.lane[0],
            0);
  EXPECT_EQ(activation_formula({}).value(2), formula_of(Activation::kSilu).value(2));
  EXPECT_EQ(activation_formula({}, 2).value(2), formula_of(Activation::kGeluTanh).value(2));
}

}  // namespace
}  // namespace coda::catalogue
