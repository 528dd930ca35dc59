// An MLP on the residual stream, x2 = x + f(n Wgᵀ)·(n Wuᵀ) Wdᵀ with n = rms(x)⊙γ, forward and
// backward by the catalogue's programs on the CPU; every gradient against differences of an fp64
// evaluation. What is passed from one program to the next, above all Σ z·dz for the norm, is right
// only if all of them are.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "coda/catalogue/activation_reference.h"
#include "coda/catalogue/linear_norm_backward.h"
#include "coda/catalogue/linear_residual_norm.h"
#include "coda/catalogue/linear_swiglu.h"
#include "coda/catalogue/linear_swiglu_backward.h"
#include "coda/catalogue/linear_weight_grad.h"
#include "coda/cpu/run.h"
#include "tests/catalogue/finite_differences.h"

namespace coda::catalogue {
namespace {

using reference::Array;

constexpr int64_t kTokens = 3, kHidden = 66, kInner = 70;  // partials of 64 columns and of fewer
constexpr float kEpsilon = 1e-3f;

struct Parameters {
  Array x, gamma, gate, up, down;
};

// Σ weights⊙x2, whose gradient by x2 is `weights`.
double loss(const Parameters& p, const Array& weights, const ActivationFormula& f) {
  const Array mean = row_sums(p.x * p.x) / double(kHidden);
  const Array n = p.x * reciprocal_sqrt(mean + double(kEpsilon)) * p.gamma;
  const Array a = map(matmul(n, p.gate), f.value) * matmul(n, p.up);
  const Array x2 = p.x + matmul(a, p.down);
  return sum_of(weights * x2);
}

class MlpGradient : public testing::TestWithParam<Activation> {
 protected:
  const ActivationFormula f = activation_formula({{"activation", static_cast<double>(GetParam())}});
  Parameters p{random_array(kTokens, kHidden, 1, 1), random_array(1, kHidden, 1, 2),
               random_array(kInner, kHidden, 0.15, 3), random_array(kInner, kHidden, 0.15, 4),
               random_array(kHidden, kInner, 0.15, 5)};
  const Array weights = random_array(kTokens, kHidden, 1, 6);

  void expect_gradient(const char* name, Array& parameter, const Floats& got) {
    catalogue::expect_gradient(name, parameter, got, [&] { return loss(p, weights, f); });
  }

  static Floats row_partials(int64_t columns) { return {(columns + 63) / 64, kTokens}; }
  static ReciprocalRms rms() { return {.width = float(kHidden), .epsilon = kEpsilon}; }
};

// γ kept beside the weights.
TEST_P(MlpGradient, Kept) {
  const Floats x(p.x), gamma(p.gamma), gate_up_weight[2] = {Floats(p.gate), Floats(p.up)};
  const Floats down(p.down), dx2(weights);
  const auto& [gate_weight, up_weight] = gate_up_weight;

  // x comes from a projection of nothing, added to the stream.
  const Floats nothing(kTokens, 0), no_weight(kHidden, 0);
  Floats stream(kTokens, kHidden), scaled(kTokens, kHidden), squares = row_partials(kHidden);
  cpu::run(LinearResidualNorm<float>{.residual = x.view(),
                                     .bias = {},
                                     .gamma = {gamma.values.data(), kHidden},
                                     .out = stream.view(),
                                     .scaled = scaled.view(),
                                     .squares = squares.view()},
           Operand(nothing.view()), Operand(no_weight.view()));
  const PerRowFrom<ReciprocalRms> rstd{Matrix<const float>(squares.view()), rms()};
  Floats gate(kTokens, kInner), up(kTokens, kInner), a(kTokens, kInner);
  cpu::run(LinearSwiglu<float>{.rstd = rstd,
                               .activation = GetParam(),
                               .gate = gate.view(),
                               .up = up.view(),
                               .out = a.view()},
           Operand(scaled.view()), pair(gate_weight.view(), up_weight.view()));

  Floats again(kTokens, kInner), dots = row_partials(kInner);
  const std::vector<float> gate_before = gate.values, up_before = up.values;
  // In the memory of gate and up.
  cpu::run(LinearSwigluBackward<float>{.gate = Matrix<const float>(gate.view()),
                                       .up = Matrix<const float>(up.view()),
                                       .rstd = rstd,
                                       .activation = GetParam(),
                                       .dgate = gate.view(),
                                       .dup = up.view(),
                                       .out = again.view(),
                                       .dots = dots.view()},
           Operand(dx2.view()), Operand(down.view().transposed()));
  const Floats &dgate = gate, &dup = up;
  for (size_t i = 0; i < a.values.size(); ++i) {
    ASSERT_NEAR(again.values[i], a.values[i], 1e-6 * (1 + std::abs(a.values[i])));
  }

  Floats ddown(kHidden, kInner);
  cpu::run(LinearWeightGrad<float>{.c = {}, .out = ddown.view(), .squares = {}},
           Operand(dx2.view().transposed()), Operand(again.view().transposed()));

  Floats dx(kTokens, kHidden), scaled_again(kTokens, kHidden), dgamma(1, kHidden);
  cpu::run(LinearNormBackward<float>{.x = x.view(),
                                     .dx_in = dx2.view(),
                                     .gamma = {gamma.values.data(), kHidden},
                                     .rstd = rstd,
                                     .dots = {Matrix<const float>(dots.view()),
                                              Mean{.width = float(kHidden)}},
                                     .dx = dx.view(),
                                     .scaled = scaled_again.view(),
                                     .dgamma = dgamma.view()},
           contraction(dgate.view(), dup.view()),
           contraction(gate_weight.view().transposed(), up_weight.view().transposed()));
  EXPECT_EQ(scaled_again.values, scaled.values);

  // Both gradients from one GEMM, cut along M.
  Floats dgate_up(2 * kInner, kHidden);
  cpu::run(LinearWeightGrad<float>{.c = {}, .out = dgate_up.view(), .squares = {}},
           rows(dgate.view().transposed(), dup.view().transposed()),
           Operand(scaled.view().transposed()));

  // Σ_k D_k·γ_k·r·x_k = Σ_n dz_n·z_n; dgate holds r·dz.
  for (int64_t m = 0; m < kTokens; ++m) {
    double left = 0, right = 0;
    for (int64_t n = 0; n < kInner; ++n) {
      for (int64_t k = 0; k < kHidden; ++k) {
        left += (double(dgate.values[m * kInner + n]) * p.gate(n, k) +
                 double(dup.values[m * kInner + n]) * p.up(n, k)) *
                p.gamma(0, k) * p.x(m, k);
      }
    }
    for (int64_t part = 0; part < dots.rows; ++part) right += dots.values[part * kTokens + m];
    EXPECT_NEAR(left, right, 1e-4 * (1 + std::abs(left)));
  }
  EXPECT_NE(gate.values, gate_before);
  EXPECT_NE(up.values, up_before);

  expect_gradient("x", p.x, dx);
  expect_gradient("gamma", p.gamma, dgamma);
  expect_gradient("down", p.down, ddown);
  Floats halves[2] = {Floats(kInner, kHidden), Floats(kInner, kHidden)};
  for (int64_t half = 0; half < 2; ++half) {
    std::ranges::copy(std::span(dgate_up.values)
                          .subspan(size_t(half * kInner * kHidden), size_t(kInner * kHidden)),
                      halves[half].values.begin());
  }
  expect_gradient("gate", p.gate, halves[0]);
  expect_gradient("up", p.up, halves[1]);
}

// γ folded into the weights of gate and up.
TEST_P(MlpGradient, Folded) {
  const Floats x(p.x), gamma(p.gamma), gate_weight(p.gate), up_weight(p.up);
  const Floats folded_gate(p.gate * p.gamma), folded_up(p.up * p.gamma);
  const Floats down(p.down), dx2(weights), nothing(kTokens, 0), no_weight(kHidden, 0);
  Floats stream(kTokens, kHidden), squares = row_partials(kHidden);
  cpu::run(
      LinearResidualNormFolded<float>{
          .residual = x.view(), .bias = {}, .out = stream.view(), .squares = squares.view()},
      Operand(nothing.view()), Operand(no_weight.view()));
  const PerRowFrom<ReciprocalRms> rstd{Matrix<const float>(squares.view()), rms()};
  Floats gate(kTokens, kInner), up(kTokens, kInner), a(kTokens, kInner);
  cpu::run(LinearSwiglu<float>{.rstd = rstd,
                               .activation = GetParam(),
                               .gate = gate.view(),
                               .up = up.view(),
                               .out = a.view()},
           Operand(stream.view()), pair(folded_gate.view(), folded_up.view()));
  Floats dgate(kTokens, kInner), dup(kTokens, kInner), dots = row_partials(kInner);
  cpu::run(LinearSwigluBackward<float>{.gate = Matrix<const float>(gate.view()),
                                       .up = Matrix<const float>(up.view()),
                                       .rstd = rstd,
                                       .activation = GetParam(),
                                       .dgate = dgate.view(),
                                       .dup = dup.view(),
                                       .out = {},
                                       .dots = dots.view()},
           Operand(dx2.view()), Operand(down.view().transposed()));
  Floats dx(kTokens, kHidden);
  cpu::run(LinearNormBackwardFolded<float>{.x = x.view(),
                                           .dx_in = dx2.view(),
                                           .rstd = rstd,
                                           .dots = {Matrix<const float>(dots.view()),
                                                    Mean{.width = float(kHidden)}},
                                           .dx = dx.view()},
           contraction(dgate.view(), dup.view()),
           contraction(folded_gate.view().transposed(), folded_up.view().transposed()));

  Floats dgate_weight(kInner, kHidden), dup_weight(kInner, kHidden), dgamma(1, kHidden);
  std::vector<double> sum(kHidden, 0.0);
  const auto weight_grad = [&](const Floats& dz, const Floats& weight, Floats& out) {
    Floats partials((kInner + 63) / 64, kHidden);
    cpu::run(LinearWeightGradFolded<float>{.c = {},
                                           .weight = weight.view(),
                                           .gamma = {gamma.values.data(), kHidden},
                                           .out = out.view(),
                                           .squares = {},
                                           .dgamma = partials.view()},
             Operand(dz.view().transposed()), Operand(stream.view().transposed()));
    for (size_t i = 0; i < partials.values.size(); ++i) sum[i % kHidden] += partials.values[i];
  };
  weight_grad(dgate, gate_weight, dgate_weight);
  weight_grad(dup, up_weight, dup_weight);
  std::ranges::transform(sum, dgamma.values.begin(), [](double v) { return float(v); });

  expect_gradient("x", p.x, dx);
  expect_gradient("gamma", p.gamma, dgamma);
  expect_gradient("gate", p.gate, dgate_weight);
  expect_gradient("up", p.up, dup_weight);
}

INSTANTIATE_TEST_SUITE_P(Activations, MlpGradient,
                         testing::Values(Activation::kSilu, Activation::kGelu,
                                         Activation::kGeluTanh, Activation::kRelu));

}  // namespace
}  // namespace coda::catalogue
