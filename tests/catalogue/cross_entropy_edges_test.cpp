// Cross-entropy where something is missing, out of range or at its limit; its gradients against
// differences of the loss in fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "coda/catalogue/cross_entropy.h"
#include "coda/catalogue/linear_cross_entropy.h"
#include "coda/core/error.h"
#include "cross_entropy_case.h"

namespace coda::catalogue {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A small problem in fp32 with room for all results.
struct Fixture {
  Fixture(int64_t M, int64_t V, int64_t h)
      : M(M), V(V), h(h), x(fill(M * h)), weight(fill(V * h)), target(static_cast<size_t>(M), 0) {
    memory.resize(1 << 22);
    void* data = memory.data();
    size_t space = memory.size();
    workspace = {std::align(256, memory.size() - 256, data, space), 0};
    workspace.bytes = static_cast<int64_t>(space);
    problem.x = {x.data(), M, h};
    problem.weight = {weight.data(), V, h};
    problem.target = target.data();
    outputs = {loss.data(), lse.data(), nullptr};
    gradients.dweight = {dweight.data(), V, h};
    gradients.dx = {dx.data(), M, h};
    gradients.dx_sum = {dx_sum.data(), M, h};
    kept = {logits.data(), M, V};
  }
  static std::vector<float> fill(int64_t count) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> result(static_cast<size_t>(count));
    for (float& v : result) v = normal(random);
    return result;
  }
  std::vector<float> nans(int64_t count) const {
    return std::vector<float>(static_cast<size_t>(count), kNan);
  }

  void forward() { cross_entropy({}, problem, outputs, kept, workspace); }
  void with_gradients(int64_t chunk = 2) {
    cross_entropy_with_gradients({}, problem, outputs, gradients, chunk, workspace);
  }
  void backward() {
    cross_entropy_backward({}, problem, lse.data(), Matrix<const float>(kept), kept, gradients,
                           workspace);
  }
  void recompute(int64_t chunk = 128) {
    cross_entropy_recompute({}, problem, lse.data(), gradients, chunk, workspace);
  }

  int64_t M, V, h;
  std::vector<float> x, weight;
  std::vector<int64_t> target;
  std::vector<float> loss = nans(M + 1), lse = nans(M), dweight = nans(V * h), dx = nans(M * h),
                     dx_sum = nans(M * h), logits = nans(M * V), dots = nans(M * ((V + 127) / 128));
  std::vector<std::byte> memory;
  CrossEntropyWorkspace workspace;
  CrossEntropy<float> problem;
  CrossEntropyLoss outputs;
  CrossEntropyGradients<float> gradients;
  Matrix<float> kept;
};

void expect_zeros(const std::vector<float>& values) {
  for (const float v : values) ASSERT_EQ(v, 0);
}

TEST(CrossEntropyEdges, AllTargetsIgnored) {
  for (const LossReduction reduction : {LossReduction::kSum, LossReduction::kMean}) {
    Fixture f(5, 130, 8);
    f.problem.options.reduction = reduction;
    f.problem.options.z_loss = 0.5f;
    f.target.assign(f.target.size(), -100);
    f.with_gradients();
    EXPECT_EQ(f.loss[0], 0);
    expect_zeros(f.dweight);
    expect_zeros(f.dx);
    f.forward();
    EXPECT_EQ(f.loss[0], 0);
    std::ranges::fill(f.dweight, kNan);
    f.recompute();
    expect_zeros(f.dweight);
    expect_zeros(f.dx_sum);
    std::ranges::fill(f.dweight, kNan);
    std::ranges::fill(f.dx, kNan);
    f.backward();
    expect_zeros(f.dweight);
    expect_zeros(f.dx);
  }
}

TEST(CrossEntropyEdges, NoTokens) {
  Fixture f(0, 130, 8);
  f.with_gradients();
  EXPECT_EQ(f.loss[0], 0);
  expect_zeros(f.dweight);
  f.loss[0] = kNan;
  f.forward();
  EXPECT_EQ(f.loss[0], 0);
  std::ranges::fill(f.dweight, kNan);
  f.recompute();
  expect_zeros(f.dweight);
  std::ranges::fill(f.dweight, kNan);
  f.backward();
  expect_zeros(f.dweight);
}

TEST(CrossEntropyEdges, OneClass) {
  Fixture f(3, 1, 8);
  f.problem.options.reduction = LossReduction::kNone;
  f.forward();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.loss[static_cast<size_t>(i)], 0);
}

TEST(CrossEntropyEdges, LogitsOfTenThousandDoNotOverflow) {
  Fixture f(2, 130, 1);
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
  Fixture f(M, V, h);
  f.target = {2, -100, 0, 5};
  f.problem.options = {1.5f, 0.1f, 0.2f, -100, LossReduction::kMean};
  const std::vector<float> x = f.x, gamma = Fixture::fill(h);
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

void expect_refused(Fixture& f, const std::function<void()>& call, const std::string& message) {
  const auto untouched = [&] {
    for (const auto* values : {&f.loss, &f.dweight, &f.dx, &f.dx_sum, &f.logits}) {
      for (const float v : *values) {
        if (!std::isnan(v)) return false;
      }
    }
    return true;
  };
  try {
    call();
    FAIL() << "expected an error: " << message;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
  EXPECT_TRUE(untouched()) << message;
}

TEST(CrossEntropyEdges, BadTargets) {
  for (const int64_t bad : {int64_t{-1}, int64_t{130}, int64_t{1} << 40, int64_t{-99}}) {
    Fixture f(3, 130, 8);
    f.target[1] = bad;
    const std::string message = "argument 'target': expected columns from 0 to 129, or ignore_index"
                                " = -100, got " + std::to_string(bad) + " at 1";
    expect_refused(f, [&] { f.forward(); }, message);
    expect_refused(f, [&] { f.with_gradients(); }, message);
    expect_refused(f, [&] { f.recompute(); }, message);
    expect_refused(f, [&] { f.backward(); }, message);
  }
  Fixture f(3, 130, 8);
  f.target[1] = -1;
  f.problem.options.ignore_index = -1;
  f.forward();
}

TEST(CrossEntropyEdges, BadArguments) {
  using Change = std::function<void(Fixture&)>;
  const Change forward = [](Fixture& f) { f.forward(); };
  const Change with_gradients = [](Fixture& f) { f.with_gradients(); };
  const Change recompute = [](Fixture& f) { f.recompute(); };
  const Change backward = [](Fixture& f) { f.backward(); };
  const struct {
    const char* message;
    Change change, call;
  } cases[] = {
      {"'smoothing': expected a number from 0 to below 1, got 1",
       [](Fixture& f) { f.problem.options.smoothing = 1; }, forward},
      {"'smoothing'", [](Fixture& f) { f.problem.options.smoothing = -0.5f; }, forward},
      {"'soft_cap': expected 0 (none) or a positive number, got -1",
       [](Fixture& f) { f.problem.options.soft_cap = -1; }, forward},
      {"'soft_cap'", [](Fixture& f) { f.problem.options.soft_cap = kNan; }, forward},
      {"'z_loss': expected 0 or a positive number, got inf",
       [](Fixture& f) { f.problem.options.z_loss = INFINITY; }, forward},
      {"'weight': expected [130, 8], got [130, 7]",
       [](Fixture& f) { f.problem.weight.columns = 7; }, forward},
      {"'weight': expected a row for each of at least one class, got none",
       [](Fixture& f) { f.problem.weight.rows = 0; }, forward},
      {"'weight': expected a row-major matrix, got column-major",
       [](Fixture& f) { f.problem.weight.major = Major::kColumn; }, forward},
      {"'x': expected data, got a null pointer", [](Fixture& f) { f.problem.x.data = nullptr; },
       forward},
      {"'x': expected a leading dimension of at least 8, got 4",
       [](Fixture& f) { f.problem.x.ld = 4; }, forward},
      {"'target': expected data, got a null pointer",
       [](Fixture& f) { f.problem.target = nullptr; }, forward},
      {"'lse': expected data, got a null pointer", [](Fixture& f) { f.outputs.lse = nullptr; },
       forward},
      {"'loss': expected data, got a null pointer", [](Fixture& f) { f.outputs.loss = nullptr; },
       with_gradients},
      {"'logits': expected [3, 130], got [3, 129]", [](Fixture& f) { f.kept.columns = 129; },
       forward},
      {"'workspace': expected 512 bytes, got 511",
       [](Fixture& f) { f.workspace.bytes = 511; }, forward},
      {"'workspace': expected 512 bytes, got a null pointer",
       [](Fixture& f) { f.workspace.data = nullptr; }, forward},
      {"'workspace': expected data aligned to 256 bytes",
       [](Fixture& f) { f.workspace.data = static_cast<std::byte*>(f.workspace.data) + 16; },
       forward},
      {"'chunk_rows': expected at least 1, got 0", [](Fixture&) {},
       [](Fixture& f) { f.with_gradients(0); }},
      {"'chunk_rows': expected at least 1, got -3", [](Fixture&) {},
       [](Fixture& f) { f.with_gradients(-3); }},
      {"'chunk_columns': expected a multiple of 128, at least that, got 0", [](Fixture&) {},
       [](Fixture& f) { f.recompute(0); }},
      {"'chunk_columns': expected a multiple of 128, at least that, got 64", [](Fixture&) {},
       [](Fixture& f) { f.recompute(64); }},
      {"'reduction': expected sum or mean where gradients are made during the forward",
       [](Fixture& f) { f.problem.options.reduction = LossReduction::kNone; }, with_gradients},
      {"'dloss': expected data, got a null pointer",
       [](Fixture& f) { f.problem.options.reduction = LossReduction::kNone; }, recompute},
      {"'dloss': expected data, got a null pointer",
       [](Fixture& f) { f.problem.options.reduction = LossReduction::kNone; }, backward},
      {"'dweight': expected [130, 8], got [129, 8]",
       [](Fixture& f) { f.gradients.dweight.rows = 129; }, with_gradients},
      {"'dx': expected [3, 8], got [0, 0]", [](Fixture& f) { f.gradients.dx = {}; },
       with_gradients},
      {"'dx_sum': expected [3, 8], got [0, 0]", [](Fixture& f) { f.gradients.dx_sum = {}; },
       recompute},
      {"'dots': expected [1, 3], got [0, 0]",
       [](Fixture& f) { f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 3), {8, 0}}; },
       with_gradients},
      {"'dots': expected [2, 3], got [0, 0]",
       [](Fixture& f) { f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 3), {8, 0}}; },
       recompute},
      {"'rstd': expected [1, 3], got [1, 2]",
       [](Fixture& f) { f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 2), {8, 0}}; },
       forward},
      {"'dz': expected [3, 130], got [2, 130]", [](Fixture&) {},
       [](Fixture& f) {
         const Matrix<float> dz(f.logits.data(), 2, 130);
         cross_entropy_backward({}, f.problem, f.lse.data(), Matrix<const float>(f.kept), dz,
                                f.gradients, f.workspace);
       }},
  };
  for (const auto& bad : cases) {
    Fixture f(3, 130, 8);
    bad.change(f);
    expect_refused(f, [&] { bad.call(f); }, bad.message);
  }
}

}  // namespace
}  // namespace coda::catalogue
