// What random cases do not say of adamw: how far 50 steps stay from those in fp64, that folded is
// what fold_norm_weight makes, and that a clip that is not finite changes nothing.
#include "coda/rows/adamw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "coda/core/random.h"
#include "coda/rows/clip_factor.h"
#include "coda/rows/fold_norm_weight.h"

namespace coda {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.99, kEpsilon = 1e-8, kDecay = 0.1;

template <class T>
TensorView view(std::vector<T>& data, int64_t rows = 1) {
  return erase(Matrix<T>(data.data(), rows, static_cast<int64_t>(data.size()) / rows));
}

// One element of the textbook's algorithm in fp64, and how far rounding may take the same in fp32,
// to first order: every product, sum, quotient and root errs by at most 2^-24 of its result, and so
// do the constants, which are rounded to fp32.
struct Exact {
  double master = 0, m = 0, v = 0;
  double master_error = 0, m_error = 0, v_error = 0;

  void step(double gradient, double clip, double lr, int t) {
    constexpr double u = 1.001 * 0x1p-24;  // and a little for the higher orders
    const double g = clip * gradient, g_error = u * std::fabs(g);
    m_error =
        kBeta1 * (m_error + 2 * u * std::fabs(m)) + (1 - kBeta1) * (g_error + 2 * u * std::fabs(g));
    v_error = kBeta2 * (v_error + 2 * u * v) +
              (1 - kBeta2) * (2 * std::fabs(g) * g_error + 3 * u * g * g);
    m = kBeta1 * m + (1 - kBeta1) * g;
    v = kBeta2 * v + (1 - kBeta2) * g * g;
    m_error += u * std::fabs(m);
    v_error += u * v;
    const double root = std::sqrt(v / (1 - std::pow(kBeta2, t)));
    const double root_error = v > 0 ? root * ((v_error / v + 2 * u) / 2 + u) : 0;
    const double below = root + kEpsilon;
    const double below_error = root_error + u * kEpsilon + u * below;
    const double ratio = m / below;
    const double ratio_error =
        m_error / below + std::fabs(ratio) * below_error / below + u * std::fabs(ratio);
    const double rate = lr / (1 - std::pow(kBeta1, t)), kept = 1 - lr * kDecay;
    master_error = kept * master_error + std::fabs(master) * (3 * u * lr * kDecay + 2 * u) +
                   rate * (ratio_error + 4 * u * std::fabs(ratio));
    master = kept * master - rate * ratio;
    master_error += u * std::fabs(master);
  }
};

std::vector<float> rates_of(double lr, int t) {
  return {static_cast<float>(lr), static_cast<float>(1 / (1 - std::pow(kBeta1, t))),
          static_cast<float>(1 / (1 - std::pow(kBeta2, t)))};
}

// Gradients from below ε to far above it, some of them always 0; a warm-up; clipped steps.
TEST(Adamw, FiftyStepsStayWithinTheRoundingsOfFp32) {
  constexpr int64_t kRows = 5, kColumns = 67;
  constexpr size_t kCount = kRows * kColumns;
  Random random(11);
  std::vector<float> master(kCount), m(kCount), v(kCount), gradient(kCount);
  std::vector<double> scale(kCount);
  std::vector<Exact> exact(kCount);
  std::vector<bf16> weight(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    master[i] = static_cast<float>(random.normal());
    exact[i].master = static_cast<double>(master[i]);
    scale[i] = i % 16 == 0 ? 0 : std::pow(10.0, 1 - 11 * random.uniform());
  }
  for (int t = 1; t <= 50; ++t) {
    const double lr = 1e-2 * std::min(1.0, t / 10.0);
    std::vector<float> clip{t % 3 == 0 ? 0.3f : 1.0f};
    for (size_t i = 0; i < kCount; ++i) {
      gradient[i] = static_cast<float>(scale[i] * random.normal());
      exact[i].step(gradient[i], clip[0], lr, t);
    }
    std::vector<float> rates = rates_of(lr, t);
    row::AdamwArguments a{view(master, kRows),   view(m, kRows), view(v, kRows),
                          view(gradient, kRows), view(rates),    view(clip)};
    a.weight = view(weight, kRows);
    a.beta1 = kBeta1;
    a.beta2 = kBeta2;
    a.epsilon = kEpsilon;
    a.decay = kDecay;
    cpu::adamw(a, t % 3 + 1);
    for (size_t i = 0; i < kCount; ++i) {
      const Exact& e = exact[i];
      ASSERT_NEAR(m[i], e.m, e.m_error) << t << " " << i;
      ASSERT_NEAR(v[i], e.v, e.v_error) << t << " " << i;
      ASSERT_NEAR(master[i], e.master, e.master_error) << t << " " << i;
      ASSERT_LE(e.master_error, 5e-5) << "says nothing";
      ASSERT_EQ(weight[i].bits, from_float<bf16>(master[i]).bits);
    }
  }
}

// All tensors of a call, of T's type where it is the weight's.
template <class T>
struct Parameter {
  int64_t rows, columns;
  std::vector<float> master, m, v, gradient, rates = rates_of(1e-2, 3), clip{1};
  std::vector<T> weight, gamma, folded;

  Parameter(int64_t rows, int64_t columns) : rows(rows), columns(columns) {
    Random random(12);
    for (auto* tensor : {&master, &m, &v, &gradient}) {
      tensor->resize(static_cast<size_t>(rows * columns));
      for (float& value : *tensor) value = static_cast<float>(random.normal());
    }
    for (float& value : v) value = std::fabs(value);
    for (auto* tensor : {&weight, &gamma, &folded}) {
      tensor->resize(static_cast<size_t>(tensor == &gamma ? columns : rows * columns));
      for (T& value : *tensor) value = from_float<T>(static_cast<float>(random.normal()));
    }
  }
  row::AdamwArguments arguments() {
    return {view(master, rows),   view(m, rows), view(v, rows),
            view(gradient, rows), view(rates),   view(clip),
            view(weight, rows),   view(gamma),   view(folded, rows)};
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void expect_the_same(const Parameter<T>& a, const Parameter<T>& b) {
  EXPECT_TRUE(same_bits(a.master, b.master));
  EXPECT_TRUE(same_bits(a.m, b.m));
  EXPECT_TRUE(same_bits(a.v, b.v));
  EXPECT_TRUE(same_bits(a.weight, b.weight));
  EXPECT_TRUE(same_bits(a.folded, b.folded));
}

template <class T>
void compare_with_fold_norm_weight() {
  Parameter<T> p(7, 131);
  cpu::adamw(p.arguments());
  std::vector<T> folded(p.folded.size());
  cpu::fold_norm_weight({view(p.weight, 7), view(p.gamma), view(folded, 7)});
  EXPECT_TRUE(same_bits(p.folded, folded));
}

TEST(Adamw, FoldsAsFoldNormWeightDoes) {
  compare_with_fold_norm_weight<bf16>();
  compare_with_fold_norm_weight<float>();
}

TEST(Adamw, AClipOfOneIsNone) {
  Parameter<bf16> clipped(3, 2500), not_clipped(3, 2500);
  cpu::adamw(clipped.arguments(), 1);
  row::AdamwArguments a = not_clipped.arguments();
  a.clip.reset();
  cpu::adamw(a, 5);
  expect_the_same(clipped, not_clipped);
  EXPECT_FALSE(same_bits(clipped.master, Parameter<bf16>(3, 2500).master));
}

TEST(Adamw, AClipThatIsNotFiniteChangesNothing) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float clip : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    Parameter<bf16> p(3, 50);
    p.clip[0] = clip;
    cpu::adamw(p.arguments());
    expect_the_same(p, Parameter<bf16>(3, 50));
  }
}

// The norm says what happened; the parameters stay as they were.
TEST(Adamw, AGradientThatIsNotFiniteStopsAtClipFactor) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Parameter<float> p(3, 50);
    p.gradient[70] = bad;
    std::vector<float> squares{1, bad * bad, 2}, norm{0};
    cpu::clip_factor({view(squares), view(norm), view(p.clip)});
    EXPECT_FALSE(std::isfinite(norm[0]));
    cpu::adamw(p.arguments());
    expect_the_same(p, Parameter<float>(3, 50));
  }
}

}  // namespace
}  // namespace coda
