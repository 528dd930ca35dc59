// An MLP behind a LayerNorm on the residual stream, x2 = x + f(n W1ᵀ + b1) W2ᵀ with
// n = (x − μ)·r⊙γ + β, forward and backward by the catalogue's operations on the CPU, weights
// stored [in, out]; every gradient against differences of an fp64 evaluation. Then the
// LayerNorm as it is.
#include <gtest/gtest.h>

#include <cmath>

#include "coda/catalogue/activation_reference.h"
#include "coda/catalogue/linear.h"
#include "coda/catalogue/linear_activation.h"
#include "coda/catalogue/linear_activation_backward.h"
#include "coda/catalogue/linear_layer_norm_backward.h"
#include "coda/catalogue/linear_residual_layer_norm.h"
#include "coda/catalogue/linear_weight_grad.h"
#include "coda/cpu/run.h"
#include "coda/rows/layer_norm.h"
#include "coda/rows/layer_norm_backward.h"
#include "coda/rows/layer_norm_inputs.h"
#include "coda/rows/layer_norm_sums.h"
#include "tests/catalogue/finite_differences.h"

namespace coda::catalogue {
namespace {

using reference::Array;
using State = Moments::State<float>;

constexpr int64_t kTokens = 3, kHidden = 66, kInner = 70;  // partials of 64 columns and of fewer
constexpr float kEpsilon = 1e-3f;

struct Parameters {
  Array x, gamma, beta, first, first_bias, second;  // first [h, F], second [F, h]
};

Array normalised(const Parameters& p) {
  const Array away = p.x - row_sums(p.x) / double(kHidden);
  const Array variance = row_sums(away * away) / double(kHidden);
  return away * reciprocal_sqrt(variance + double(kEpsilon)) * p.gamma + p.beta;
}

TensorView whole(Floats& floats) { return erase(floats.view()); }

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) {
    ASSERT_NEAR(got.values[i], want.values[i], 2e-6 * (10 + std::abs(want.values[i]))) << i;
  }
}

class LayerNormGradient : public testing::TestWithParam<Activation> {
 protected:
  Parameters p{
      map(random_array(kTokens, kHidden, 1, 1), [](double v) { return double(float(v + 0.5)); }),
      random_array(1, kHidden, 1, 2),
      random_array(1, kHidden, 1, 3),
      random_array(kHidden, kInner, 0.15, 4),
      random_array(1, kInner, 0.3, 5),
      random_array(kInner, kHidden, 0.15, 6)};
  const Array weights = random_array(kTokens, kHidden, 1, 7);  // Σ weights⊙x2 is the loss

  static Floats row_partials(int64_t columns) { return {(columns + 63) / 64, kTokens}; }
  static PerRowFrom<RowMean> mean_of(const Matrix<const State>& moments) {
    return {moments, RowMean{.width = float(kHidden)}};
  }
  static PerRowFrom<ReciprocalDeviation> rstd_of(const Matrix<const State>& moments) {
    return {moments, ReciprocalDeviation{.width = float(kHidden), .epsilon = kEpsilon}};
  }
};

TEST_P(LayerNormGradient, Mlp) {
  Floats x(p.x), gamma(p.gamma), beta(p.beta), bias(p.first_bias), dx2(weights);
  const Floats first(p.first), second(p.second);

  Floats scaled(kTokens, kHidden), stream(kTokens, kHidden), scaled_again(kTokens, kHidden);
  std::vector<State> states(2 * kTokens), states_again(2 * kTokens);
  const Matrix<State> moments(states.data(), 2, kTokens), again(states_again.data(), 2, kTokens);
  cpu::layer_norm_inputs({whole(x), whole(gamma), whole(scaled), erase(moments)});
  // The same from a projection of nothing, added to the stream.
  const Floats nothing(kTokens, 0), no_weight(kHidden, 0);
  cpu::run(LinearResidualLayerNorm<float>{.residual = Matrix<const float>(x.view()),
                                          .bias = {},
                                          .gamma = {gamma.values.data(), kHidden},
                                          .out = stream.view(),
                                          .scaled = scaled_again.view(),
                                          .moments = again},
           Operand(nothing.view()), Operand(no_weight.view()));
  EXPECT_EQ(scaled_again.values, scaled.values);
  for (size_t i = 0; i < states.size(); ++i) {
    EXPECT_NEAR(states_again[i].sum, states[i].sum, 1e-5);
    EXPECT_NEAR(states_again[i].squares, states[i].squares, 1e-4);
  }

  // γ W1 and β W1, of one GEMM with two rows.
  Floats norm(2, kHidden), sums(2, kInner);
  std::ranges::copy(gamma.values, norm.values.begin());
  std::ranges::copy(beta.values, norm.values.begin() + kHidden);
  cpu::run(Linear<float>{.c = {}, .bias = {}, .out = sums.view(), .rstd = {}}, Operand(norm.view()),
           Operand(first.view().transposed()));
  const float *const shift = sums.values.data(), *const offset = shift + kInner;
  const auto mean = mean_of(moments);
  const auto rstd = rstd_of(moments);
  Floats z(kTokens, kInner), a(kTokens, kInner);
  cpu::run(LinearActivation<float>{.mean = mean,
                                   .rstd = rstd,
                                   .shift = {{shift, kInner}},
                                   .offset = {{offset, kInner}},
                                   .bias = {{bias.values.data(), kInner}},
                                   .activation = GetParam(),
                                   .before = z.view(),
                                   .out = a.view()},
           Operand(scaled.view()), Operand(first.view().transposed()));

  Floats dz(kTokens, kInner), a_again(kTokens, kInner), dbias(1, kInner);
  Floats dots = row_partials(kInner), shifts = row_partials(kInner);
  cpu::run(LinearActivationBackward<float>{.before = Matrix<const float>(z.view()),
                                           .shift = {{shift, kInner}},
                                           .offset = {{offset, kInner}},
                                           .bias = {{bias.values.data(), kInner}},
                                           .activation = GetParam(),
                                           .dz = dz.view(),
                                           .out = a_again.view(),
                                           .dots = dots.view(),
                                           .shifts = shifts.view(),
                                           .dbias = dbias.view()},
           Operand(dx2.view()), Operand(second.view()));
  expect_near(a_again, a);
  Floats row_dots = row_partials(kInner), row_shifts = row_partials(kInner), row_dbias(1, kInner);
  cpu::layer_norm_sums({whole(dz), whole(z), erase(Matrix<const float>(shift, 1, kInner)),
                        erase(Matrix<const float>(offset, 1, kInner)), whole(row_dots),
                        whole(row_shifts), whole(bias), whole(row_dbias)});
  expect_near(row_dots, dots);
  expect_near(row_shifts, shifts);
  expect_near(row_dbias, dbias);

  Floats dx(kTokens, kHidden), normed(kTokens, kHidden), dgamma(1, kHidden), dbeta(1, kHidden);
  Floats dcolumns(1, kHidden);
  const Mean per_column{.width = float(kHidden)};
  cpu::run(
      LinearLayerNormBackward<float>{.x = Matrix<const float>(x.view()),
                                     .dx_in = Matrix<const float>(dx2.view()),
                                     .gamma = {gamma.values.data(), kHidden},
                                     .beta = {beta.values.data(), kHidden},
                                     .mean = mean,
                                     .rstd = rstd,
                                     .dots = {Matrix<const float>(dots.view()), per_column},
                                     .shifts = {Matrix<const float>(shifts.view()), per_column},
                                     .dx = dx.view(),
                                     .normed = normed.view(),
                                     .dgamma = dgamma.view(),
                                     .dbeta = dbeta.view(),
                                     .dcolumns = dcolumns.view()},
      Operand(dz.view()), Operand(first.view()));
  Floats column_sums(1, kHidden);
  for (int64_t j = 0; j < kHidden; ++j) {
    column_sums.values[size_t(j)] = 0;
    for (int64_t m = 0; m < kTokens; ++m) {
      column_sums.values[size_t(j)] += dx.values[size_t(m * kHidden + j)];
    }
  }
  expect_near(dcolumns, column_sums);

  Floats dfirst(kHidden, kInner), dsecond(kInner, kHidden);
  cpu::run(LinearWeightGrad<float>{.c = {}, .out = dfirst.view(), .squares = {}},
           Operand(normed.view().transposed()), Operand(dz.view().transposed()));
  cpu::run(LinearWeightGrad<float>{.c = {}, .out = dsecond.view(), .squares = {}},
           Operand(a.view().transposed()), Operand(dx2.view().transposed()));

  const ActivationFormula f = activation_formula({{"activation", double(GetParam())}});
  const auto loss = [&] {
    const Array before = matmul(normalised(p), transpose(p.first)) + p.first_bias;
    return sum_of(weights * (p.x + matmul(map(before, f.value), transpose(p.second))));
  };
  expect_gradient("x", p.x, dx, loss);
  expect_gradient("gamma", p.gamma, dgamma, loss);
  expect_gradient("beta", p.beta, dbeta, loss);
  expect_gradient("first", p.first, dfirst, loss);
  expect_gradient("first_bias", p.first_bias, dbias, loss);
  expect_gradient("second", p.second, dsecond, loss);
}

INSTANTIATE_TEST_SUITE_P(Activations, LayerNormGradient,
                         testing::Values(Activation::kGelu, Activation::kGeluTanh,
                                         Activation::kRelu, Activation::kIdentity));

TEST_F(LayerNormGradient, AsItIs) {
  Floats x(p.x), gamma(p.gamma), beta(p.beta), dy(weights), out(kTokens, kHidden);
  cpu::layer_norm({whole(x), whole(gamma), whole(beta), whole(out), kEpsilon});
  expect_near(out, Floats(normalised(p)));
  const Array along = random_array(kTokens, kHidden, 1, 8);
  Floats dx_in(along), dgamma(1, kHidden), dbeta(1, kHidden), dcolumns(1, kHidden);
  const Floats before(along);
  Floats& dx = dx_in;  // in the same memory
  cpu::layer_norm_backward({whole(dy), whole(x), whole(gamma), whole(dx), whole(dgamma),
                            whole(dbeta), kEpsilon, whole(dx_in), whole(dcolumns)});
  EXPECT_NE(dx.values, before.values);
  const auto loss = [&] { return sum_of(weights * normalised(p)) + sum_of(along * p.x); };
  expect_gradient("x", p.x, dx, loss);
  expect_gradient("gamma", p.gamma, dgamma, loss);
  expect_gradient("beta", p.beta, dbeta, loss);
}

// In bf16 the deferred norm multiplies x⊙γ, rounded beside its mean: docs/numerics.md has the
// bound.
TEST(DeferredLayerNorm, ErrorGrowsWithTheMeanAsDocumented) {
  constexpr int64_t kRows = 192, kWidth = 320, kColumns = 136;
  const auto rounded = [](const Array& x) {
    return map(x, [](double v) { return reference::round_to(DType::kBf16, v); });
  };
  const auto halves = [](const Array& x) {
    std::vector<bf16> result;
    for (const double v : x.values) result.push_back(from_float<bf16>(float(v)));
    return result;
  };
  for (const double mean : {0.0, 2.0, -2.0, 8.0, -8.0}) {
    const Array x = rounded(random_array(kRows, kWidth, 1, 1) + mean);
    const Array gamma = rounded(random_array(1, kWidth, 0.25, 2) + 1.0);
    const Array beta = rounded(random_array(1, kWidth, 0.25, 3));
    const Array weight = rounded(random_array(kColumns, kWidth, 1 / std::sqrt(double(kWidth)), 4));

    const Array away = x - row_sums(x) / double(kWidth);
    const Array variance = row_sums(away * away) / double(kWidth);
    const Array n = away * reciprocal_sqrt(variance + 1e-5) * gamma + beta;
    const Array want = matmul(n, weight), stock = rounded(matmul_fp32(rounded(n), weight));

    const std::vector<bf16> x_data = halves(x), gamma_data = halves(gamma),
                            beta_data = halves(beta);
    const std::vector<bf16> weight_data = halves(weight);
    const Matrix<const bf16> w(weight_data.data(), kColumns, kWidth);
    std::vector<bf16> scaled(x_data.size()), out(size_t(kRows * kColumns)), norm = gamma_data;
    norm.insert(norm.end(), beta_data.begin(), beta_data.end());
    std::vector<State> states(size_t(kWidth / 64 * kRows));
    const Matrix<State> moments(states.data(), kWidth / 64, kRows);
    const Matrix<bf16> scaled_view(scaled.data(), kRows, kWidth);
    cpu::layer_norm_inputs({erase(Matrix<const bf16>(x_data.data(), kRows, kWidth)),
                            erase(Matrix<const bf16>(gamma_data.data(), 1, kWidth)),
                            erase(scaled_view), erase(moments)});
    Floats sums(2, kColumns);
    cpu::run(Linear<float>{.c = {}, .bias = {}, .out = sums.view(), .rstd = {}},
             Operand(Matrix<const bf16>(norm.data(), 2, kWidth)), Operand(w));
    const Matrix<const State> read = moments;
    cpu::run(
        LinearActivation<bf16>{
            .mean = PerRowFrom<RowMean>{read, {.width = kWidth}},
            .rstd = PerRowFrom<ReciprocalDeviation>{read, {.width = kWidth, .epsilon = 1e-5f}},
            .shift = {{sums.values.data(), kColumns}},
            .offset = {{sums.values.data() + kColumns, kColumns}},
            .bias = {},
            .activation = Activation::kIdentity,
            .before = {},
            .out = Matrix<bf16>(out.data(), kRows, kColumns)},
        Operand(Matrix<const bf16>(scaled_view)), Operand(w));

    double mine = 0, unfused = 0, most = 0, unfused_most = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const double error = std::abs(to_float(out[i]) - want.values[i]);
      const double other = std::abs(stock.values[i] - want.values[i]);
      mine += error * error;
      unfused += other * other;
      most = std::max(most, error);
      unfused_most = std::max(unfused_most, other);
    }
    const double growth = std::sqrt(1 + mean * mean / 2);
    std::printf("mean %.0f: RMS error %.2f, largest %.2f of the unfused norm's\n", mean,
                std::sqrt(mine / unfused), most / unfused_most);
    EXPECT_LE(std::sqrt(mine / unfused), std::abs(mean) <= 2 ? 2 : 2 * growth) << mean;
    EXPECT_LE(most / unfused_most, std::abs(mean) <= 2 ? 2 : 2 * growth) << mean;
  }
}

}  // namespace
}  // namespace coda::catalogue
