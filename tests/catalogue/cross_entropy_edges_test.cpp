// Cross-entropy where something is missing or at its limit; its gradients against
// differences of the loss in fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "coda/catalogue/linear_cross_entropy.h"
#include "cross_entropy_fixture.h"

namespace coda::catalogue {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

void expect_zeros(const std::vector<float>& values) {
  for (const float v : values) ASSERT_EQ(v, 0);
}

// A sum over nothing is 0, a mean NaN.
void expect_of_nothing(const CrossEntropyFixture& f) {
  if (f.problem.options.reduction == LossReduction::kMean) {
    EXPECT_TRUE(std::isnan(f.loss[0]));
  } else {
    EXPECT_EQ(f.loss[0], 0);
  }
}

TEST(CrossEntropyEdges, AllTargetsIgnored) {
  for (const LossReduction reduction : {LossReduction::kSum, LossReduction::kMean}) {
    CrossEntropyFixture f(5, 130, 8);
    f.problem.options.reduction = reduction;
    f.problem.options.z_loss = 0.5f;
    f.target.assign(f.target.size(), -100);
    f.loss[0] = 1;
    f.with_gradients();
    expect_of_nothing(f);
    expect_zeros(f.dweight);
    expect_zeros(f.dx);
    f.forward();
    expect_of_nothing(f);
    std::ranges::fill(f.dweight, kNotANumber);
    f.recompute();
    expect_zeros(f.dweight);
    expect_zeros(f.dx_sum);
    std::ranges::fill(f.dweight, kNotANumber);
    std::ranges::fill(f.dx, kNotANumber);
    f.backward();
    expect_zeros(f.dweight);
    expect_zeros(f.dx);
  }
}

TEST(CrossEntropyEdges, NoTokens) {
  CrossEntropyFixture f(0, 130, 8);
  f.loss[0] = 1;
  f.with_gradients();
  expect_of_nothing(f);
  expect_zeros(f.dweight);
  f.loss[0] = 1;
  f.forward();
  expect_of_nothing(f);
  std::ranges::fill(f.dweight, kNotANumber);
  f.recompute();
  expect_zeros(f.dweight);
  std::ranges::fill(f.dweight, kNotANumber);
  f.backward();
  expect_zeros(f.dweight);
  f.problem.options.reduction = LossReduction::kNone;
  f.outputs.loss = nullptr;  // as many as there are tokens
  f.forward();
}

// The other one has the same bits then, and nothing else is written.
TEST(CrossEntropyEdges, AGradientThatIsNotWanted) {
  const std::function<void(CrossEntropyFixture&)> policies[] = {
      [](CrossEntropyFixture& f) { f.with_gradients(2); },
      [](CrossEntropyFixture& f) { f.forward(), f.backward(); },
      [](CrossEntropyFixture& f) { f.forward(), f.recompute(); }};
  for (const auto& policy : policies) {
    CrossEntropyFixture both(5, 300, 8), inputs(5, 300, 8), weights(5, 300, 8);
    inputs.gradients.dweight = {};
    weights.gradients.dx = weights.gradients.dx_sum = {};
    for (CrossEntropyFixture* f : {&both, &inputs, &weights}) policy(*f);
    EXPECT_EQ(std::memcmp(weights.dweight.data(), both.dweight.data(), 300 * 8 * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(inputs.dx.data(), both.dx.data(), 5 * 8 * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(inputs.dx_sum.data(), both.dx_sum.data(), 5 * 8 * sizeof(float)), 0);
    for (const auto* untouched : {&inputs.dweight, &weights.dx, &weights.dx_sum}) {
      for (const float v : *untouched) ASSERT_TRUE(std::isnan(v));
    }
  }
}

TEST(CrossEntropyEdges, OneClass) {
  CrossEntropyFixture f(3, 1, 8);
  f.problem.options.reduction = LossReduction::kNone;
  f.forward();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.loss[static_cast<size_t>(i)], 0);
}

TEST(CrossEntropyEdges, LogitsOfTenThousandDoNotOverflow) {
  CrossEntropyFixture f(2, 130, 1);
  f.x = {1, -1};
  for (size_t v = 0; v < f.weight.size(); ++v) f.weight[v] = v == 7 ? 1e4f : -1e4f;
  f.target = {7, 3};
  f.problem.options.reduction = LossReduction::kNone;
  f.forward();
  EXPECT_EQ(f.lse[0], 1e4f);
  EXPECT_EQ(f.loss[0], 0);
  EXPECT_FLOAT_EQ(f.lse[1], 1e4f + std::log(129.0f));
  EXPECT_NEAR(f.loss[1], std::log(129.0f), 2e-3);  // as fine as fp32 is at 10^4
}

// Small integers: every sum is exact, and the logit at the target is that sum.
TEST(CrossEntropyEdges, TheTargetsLogitIsExact) {
  constexpr int64_t M = 70, V = 300, h = 33;
  std::mt19937 random(3);
  std::uniform_int_distribution<int> integer(-9, 9);
  std::vector<bf16> x(M * h), weight(V * h);
  for (auto* values : {&x, &weight}) {
    for (bf16& v : *values) v = from_float<bf16>(static_cast<float>(integer(random)));
  }
  std::vector<int64_t> target(M);
  for (size_t m = 0; m < M; ++m) target[m] = static_cast<int64_t>(m * 37 % V);
  using State = CrossEntropySums::State<float>;
  std::vector<State> sums(3 * M);
  LinearCrossEntropy<bf16> program;
  program.target = PerRow<const int64_t>(target.data(), M);
  program.sums = Matrix<State>(sums.data(), 3, M);
  cpu::run(program, Operand<bf16>(Matrix<const bf16>(x.data(), M, h)),
           Operand<bf16>(Matrix<const bf16>(weight.data(), V, h)));
  for (int64_t m = 0; m < M; ++m) {
    float want = 0, total = 0, largest = -INFINITY, got[3] = {0, 0, -INFINITY};
    for (int64_t v = 0; v < V; ++v) {
      float z = 0;
      for (int64_t k = 0; k < h; ++k) {
        z += to_float(x[static_cast<size_t>(m * h + k)]) *
             to_float(weight[static_cast<size_t>(v * h + k)]);
      }
      if (v == target[static_cast<size_t>(m)]) want = z;
      total += z;
      largest = std::max(largest, z);
    }
    for (int64_t part = 0; part < 3; ++part) {
      const State& state = sums[static_cast<size_t>(part * M + m)];
      got[0] += state.target;
      got[1] += state.total;
      got[2] = std::max(got[2], state.max);
    }
    EXPECT_EQ(got[0], want);
    EXPECT_EQ(got[1], total);
    EXPECT_EQ(got[2], largest);
  }
}

// Gradients of everything behind a norm with its weight kept, by central differences.
TEST(CrossEntropyEdges, GradientsAreDifferencesOfTheLoss) {
  constexpr int64_t M = 4, V = 6, h = 5;
  constexpr double kEpsilon = 0.01;
  CrossEntropyFixture f(M, V, h);
  f.target = {2, -100, 0, 5};
  f.problem.options = {1.5f, 0.1f, 0.2f, -100, LossReduction::kMean};
  const std::vector<float> x = f.x, gamma = CrossEntropyFixture::fill(h);
  const auto loss = [&](std::vector<double> p) {  // of x [M, h], W [V, h], γ [h], one after another
    const double *weight = &p[M * h], *g = &p[M * h + V * h];
    double sum = 0;
    for (int64_t m = 0; m < M; ++m) {
      if (f.target[static_cast<size_t>(m)] == -100) continue;
      const double* row = &p[static_cast<size_t>(m * h)];
      double squares = 0, exps = 0, total = 0, z[V];
      for (int64_t k = 0; k < h; ++k) squares += row[k] * row[k];
      for (int64_t v = 0; v < V; ++v) {
        z[v] = 0;
        for (int64_t k = 0; k < h; ++k) z[v] += row[k] * g[k] * weight[v * h + k];
        z[v] = 1.5 * std::tanh(z[v] / std::sqrt(squares / h + kEpsilon) / 1.5);
        exps += std::exp(z[v]);
        total += z[v];
      }
      const double lse = std::log(exps), at = z[f.target[static_cast<size_t>(m)]];
      sum += lse - 0.8 * at - 0.2 * total / V + 0.1 * lse * lse;
    }
    return sum / 3;
  };
  std::vector<double> p(f.x.begin(), f.x.end());
  p.insert(p.end(), f.weight.begin(), f.weight.end());
  p.insert(p.end(), gamma.begin(), gamma.end());
  std::vector<double> want;
  for (size_t i = 0; i < p.size(); ++i) {
    std::vector<double> up = p, down = p;
    up[i] += 1e-5, down[i] -= 1e-5;
    want.push_back((loss(up) - loss(down)) / 2e-5);
  }
  std::vector<float> squares(M);
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t k = 0; k < h; ++k) {
      const auto i = static_cast<size_t>(m * h + k);
      squares[static_cast<size_t>(m)] += x[i] * x[i];
      f.x[i] = x[i] * gamma[static_cast<size_t>(k)];
    }
  }
  f.problem.rstd = {Matrix<const float>(squares.data(), 1, M), {h, kEpsilon}};
  f.gradients.dots = {f.dots.data(), 1, M};
  const std::function<void()> policies[] = {[&] { f.with_gradients(3); },
                                            [&] { f.forward(), f.backward(); },
                                            [&] { f.forward(), f.recompute(), f.dx = f.dx_sum; }};
  for (const auto& policy : policies) {
    policy();
    EXPECT_NEAR(f.loss[0], loss(p), 1e-6);
    std::vector<double> dgamma(h);
    for (int64_t m = 0; m < M; ++m) {
      const double mean = squares[static_cast<size_t>(m)] / h + kEpsilon;
      const double w = f.dots[static_cast<size_t>(m)] / h;
      for (int64_t k = 0; k < h; ++k) {
        const auto i = static_cast<size_t>(m * h + k);
        dgamma[static_cast<size_t>(k)] += f.dx[i] * x[i];
        EXPECT_NEAR(f.dx[i] * gamma[static_cast<size_t>(k)] - x[i] / mean * w, want[i], 2e-6);
      }
    }
    for (size_t i = 0; i < V * h; ++i) EXPECT_NEAR(f.dweight[i], want[M * h + i], 2e-6);
    for (size_t k = 0; k < h; ++k) EXPECT_NEAR(dgamma[k], want[M * h + V * h + k], 2e-6);
  }
}

}  // namespace
}  // namespace coda::catalogue
