// rope_backward against derivatives of the forward pass, taken numerically in fp64:
//   y = scale·R(θ)·n, n = z or γ·z·s, z = r·u + b, loss = Σ y·dy; d̃z = r·dz, dz = dloss/dz
#include "coda/rows/rope_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "coda/core/random.h"

namespace coda {
namespace {

constexpr int64_t kHeadDim = 8, kHalf = kHeadDim / 2;
constexpr double kScale = 1.5, kNormEpsilon = 0.3;

using Vector = std::vector<double>;

struct Head {  // of one row
  Vector u, bias, gamma, dy;
  double r, position;
  Vector inv_freq;
  bool norm, rotated;

  Vector z() const {
    Vector result(kHeadDim);
    for (size_t i = 0; i < kHeadDim; ++i) result[i] = r * u[i] + bias[i];
    return result;
  }
  Vector forward(const Vector& z, const Vector& weight) const {
    Vector n = z;
    if (norm) {
      double squares = 0;
      for (const double value : z) squares += value * value;
      const double s = 1 / std::sqrt(squares / kHeadDim + kNormEpsilon);
      for (size_t i = 0; i < kHeadDim; ++i) n[i] = weight[i] * z[i] * s;
    }
    if (!rotated) return n;
    Vector y(kHeadDim);
    for (size_t i = 0; i < kHalf; ++i) {
      const double c = std::cos(position * inv_freq[i]), s = std::sin(position * inv_freq[i]);
      y[i] = kScale * (n[i] * c - n[kHalf + i] * s);
      y[kHalf + i] = kScale * (n[kHalf + i] * c + n[i] * s);
    }
    return y;
  }
  double loss(const Vector& z, const Vector& weight) const {
    const Vector y = forward(z, weight);
    double sum = 0;
    for (size_t i = 0; i < kHeadDim; ++i) sum += y[i] * dy[i];
    return sum;
  }
  // dloss/d(one of the vectors), element i
  double slope(size_t i, bool of_weight) const {
    constexpr double kStep = 1e-5;
    const auto at = [&](double step) {
      Vector x = z(), weight = gamma;
      (of_weight ? weight : x)[i] += step;
      return loss(x, weight);
    };
    return (at(kStep) - at(-kStep)) / (2 * kStep);
  }
};

Vector draw(Random& random, double mean = 0) {
  Vector result(kHeadDim);
  for (double& value : result) {
    value = static_cast<double>(static_cast<float>(mean + random.normal()));
  }
  return result;
}

struct Tensor {
  std::vector<float> data;
  TensorView view(int64_t rows = 1) const {
    const auto columns = static_cast<int64_t>(data.size()) / rows;
    return erase(Matrix<const float>(data.data(), rows, columns));
  }
};

Tensor tensor(const Vector& values) { return {{values.begin(), values.end()}}; }
Tensor empty(size_t count) { return {std::vector<float>(count, std::nanf(""))}; }

// One row, one head each of q, k and v.
void compare(bool norm, uint64_t seed) {
  Random random(seed);
  const auto position = static_cast<double>(random.between(0, 1000));
  Tensor inv_freq{{1.0f, 0.3f, 0.07f, 0.011f}};
  const Vector frequencies(inv_freq.data.begin(), inv_freq.data.end());
  const Tensor partials{{3.0f, 5.0f}};
  const double r = 1 / std::sqrt(8.0 / 16 + 0.01);
  std::vector<Head> heads;
  for (int i = 0; i < 3; ++i) {
    heads.push_back({draw(random), draw(random), draw(random, 1), draw(random), r, position,
                     frequencies, norm && i < 2, i < 2});
  }
  std::vector<Tensor> in, out;
  in.reserve(100);
  out.reserve(100);
  const auto keep = [&](const Vector& values) { return in.emplace_back(tensor(values)).view(); };
  const auto make = [&](size_t count) { return out.emplace_back(empty(count)).view(); };
  const auto segment = [&](const Head& head) -> row::RopeBackwardSegment {
    row::RopeBackwardSegment s;
    s.dy = keep(head.dy);
    s.y = keep(head.norm ? head.z() : head.forward(head.z(), head.gamma));
    s.dz = make(kHeadDim);
    s.bias = keep(head.bias);
    s.dbias = make(kHeadDim);
    if (head.norm) {
      s.norm = keep(head.gamma);
      s.dnorm = make(kHeadDim);
    }
    return s;
  };
  row::RopeBackwardArguments a;
  a.q = segment(heads[0]);
  a.k = segment(heads[1]);
  a.v = segment(heads[2]);
  std::vector<int32_t> positions{static_cast<int32_t>(position)};
  a.positions = erase(Matrix<int32_t>(positions.data(), 1, 1));
  a.rstd = partials.view(2);
  a.rstd_width = 16;
  a.rstd_epsilon = 0.01;
  a.sums = out.emplace_back(empty(3)).view(3);
  a.head_dim = kHeadDim;
  a.inv_freq = inv_freq.view();
  a.scale = kScale;
  a.norm_epsilon = kNormEpsilon;
  cpu::rope_backward(a);

  const auto value = [](const TensorView& view, size_t i) {
    return static_cast<double>(static_cast<const float*>(view.data)[i]);
  };
  const row::RopeBackwardSegment* const segments[] = {&a.q, &a.k, &a.v};
  for (size_t h = 0; h < 3; ++h) {
    const Head& head = heads[h];
    double sum = 0;
    for (size_t i = 0; i < kHeadDim; ++i) {
      const double dz = head.slope(i, false);
      EXPECT_NEAR(value(segments[h]->dz, i), r * dz, 2e-5) << h << " " << i;
      EXPECT_NEAR(value(*segments[h]->dbias, i), dz, 2e-5);
      if (head.norm) {
        EXPECT_NEAR(value(*segments[h]->dnorm, i), head.slope(i, true), 2e-5);
      }
      sum += dz * (head.z()[i] - head.bias[i]);
    }
    EXPECT_NEAR(value(a.sums, h), sum, 1e-4) << h;
  }
}

TEST(RopeBackward, IsTheDerivativeOfTheForwardPass) {
  for (uint64_t seed = 0; seed < 20; ++seed) compare(false, seed);
}

TEST(RopeBackward, ThroughTheNormOfAHead) {
  for (uint64_t seed = 0; seed < 20; ++seed) compare(true, seed);
}

}  // namespace
}  // namespace coda
