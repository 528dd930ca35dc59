// A case of cross-entropy with its tensors, and what has to come out of it, in fp64 or as the
// unfused computation rounds it.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "coda/catalogue/cross_entropy.h"
#include "coda/catalogue/linear_cross_entropy_reference.h"

namespace coda::catalogue {

struct CrossEntropyShape {
  int64_t M = 7, V = 300, h = 40;
  bool norm = false;         // x comes with the sums of squares of its rows
  double ignored = 0.2;      // share of the rows
  double logit_scale = 1.0;  // of normal logits
};

struct CrossEntropyWant {
  reference::Array lse, loss;          // [1, M]
  double total = 0;                    // of the loss
  reference::Array dx, dweight, dots;  // [M, h], [V, h], [1, M]
  reference::Array dot_terms;          // [1, M]: Σ |z·dz|, of which dots may be a small rest
};

template <class T>
class CrossEntropyCase {
 public:
  using Array = reference::Array;

  CrossEntropyCase(const CrossEntropyShape& shape, const CrossEntropyOptions& options,
                   uint32_t seed = 1)
      : shape_(shape), options_(options), random_(seed) {
    const auto [M, V, h, norm, ignored, logit_scale] = shape;
    in_["A"] = draw(M, h, 1);
    in_["B"] = draw(V, h, logit_scale / std::sqrt(static_cast<double>(h)));
    in_["target"] = Array(1, M);
    std::uniform_int_distribution<int64_t> column(0, V - 1);
    std::bernoulli_distribution ignores(ignored);
    for (int64_t m = 0; m < M; ++m) {
      // Never all of them: cross_entropy_edges_test.cpp has the mean of none.
      target.push_back(m > 0 && ignores(random_) ? options.ignore_index : column(random_));
      in_["target"](0, m) = static_cast<double>(target.back());
      dloss_rows.push_back(static_cast<float>(normal_(random_)));
    }
    x = stored(in_["A"]);
    weight = stored(in_["B"]);
    if (norm) {
      in_["rstd"] = Array(2, M);
      for (double& v : in_["rstd"].values) {
        squares.push_back(static_cast<float>(std::abs(normal_(random_)) + 1));
        v = squares.back();
      }
      in_["rstd.width"] = 3.0;
      in_["rstd.epsilon"] = 0.5;
    }
  }

  CrossEntropy<T> problem() const {
    const auto [M, V, h, norm, ignored, logit_scale] = shape_;
    CrossEntropy<T> p;
    p.x = {x.data(), M, h};
    p.weight = {weight.data(), V, h};
    p.target = target.data();
    if (norm) p.rstd = {Matrix<const float>(squares.data(), 2, M), {3.0f, 0.5f}};
    p.options = options_;
    return p;
  }

  // dloss: of the total; without a reduction dloss_rows are taken.
  // single(x): what fp32 holds of x, where operators round.
  template <class Single>
  CrossEntropyWant want(double dloss, const reference::Rounding& round, Single&& single) const {
    const int64_t M = shape_.M, V = shape_.V;
    const double cap = options_.soft_cap, alpha = options_.smoothing, lambda = options_.z_loss;
    const Array z = logits_reference(in_, round), capped = capped_reference(z, cap, round).value;
    CrossEntropyWant w{Array(1, M), Array(1, M), 0, {}, {}, Array(1, M), Array(1, M)};
    Array dz(M, V);
    double count = 0;
    for (const int64_t t : target) count += t != options_.ignore_index ? 1 : 0;
    for (int64_t m = 0; m < M; ++m) {
      double top = -INFINITY, sum = 0, total = 0;
      for (int64_t v = 0; v < V; ++v) top = std::max(top, capped(m, v));
      for (int64_t v = 0; v < V; ++v) sum += std::exp(capped(m, v) - top), total += capped(m, v);
      const double lse = w.lse(0, m) = single(top + std::log(sum));
      const int64_t t = target[static_cast<size_t>(m)];
      if (t == options_.ignore_index) continue;
      w.loss(0, m) = lse - (1 - alpha) * capped(m, t) - alpha / static_cast<double>(V) * total +
                     lambda * lse * lse;
      w.total += w.loss(0, m);
      double factor = dloss;
      if (options_.reduction == LossReduction::kMean) factor /= count;
      if (options_.reduction == LossReduction::kNone) {
        factor = dloss_rows[static_cast<size_t>(m)];
      }
      for (int64_t v = 0; v < V; ++v) {
        const double p = single(std::exp(single(capped(m, v) - lse)));
        const double slope = cap > 0 ? capped(m, v) / cap : 0;
        dz(m, v) = (p * (1 + 2 * lambda * lse) - (v == t ? 1 - alpha : 0) -
                    alpha / static_cast<double>(V)) *
                   (1 - slope * slope) * factor;
        w.dots(0, m) += z(m, v) * dz(m, v);
        w.dot_terms(0, m) += std::abs(z(m, v) * dz(m, v));
      }
    }
    if (options_.reduction == LossReduction::kMean) w.total /= count;
    Array r(1.0);
    if (in_.contains("rstd")) {
      r = transpose(reciprocal_sqrt(column_sums(in_.at("rstd")) / in_.at("rstd.width") +
                                    in_.at("rstd.epsilon")));
    }
    const Array scaled = round(dz * r);
    w.dx = round(round.matmul(scaled, transpose(in_.at("B"))));
    w.dweight = round.matmul(transpose(scaled), transpose(in_.at("A")));
    return w;
  }
  CrossEntropyWant exact(double dloss = 1) const {
    return want(dloss, {}, [](double x) { return x; });
  }
  CrossEntropyWant unfused(double dloss = 1) const {
    return want(dloss, {dtype_of<T>, {{"rstd", DType::kFp32}}},
                [](double x) { return reference::round_to(DType::kFp32, x); });
  }

  std::vector<T> x, weight;  // [M, h], [V, h]
  std::vector<int64_t> target;
  std::vector<float> squares;     // [2, M]
  std::vector<float> dloss_rows;  // [M]

 private:
  Array draw(int64_t rows, int64_t columns, double scale) {
    Array result(rows, columns);
    for (double& v : result.values) {
      v = reference::round_to(dtype_of<T>, scale * normal_(random_));
    }
    return result;
  }
  static std::vector<T> stored(const Array& array) {
    std::vector<T> result;
    for (const double v : array.values) result.push_back(from_float<T>(static_cast<float>(v)));
    return result;
  }

  CrossEntropyShape shape_;
  CrossEntropyOptions options_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  reference::Arrays in_;
};

// RMS error at most twice that of the unfused computation, plus 2^-24·√K of the RMS value, or of
// that of the terms where they cancel.
struct Errors {
  double error = 0, unfused = 0, value = 0;

  template <class T>
  void add(const std::vector<T>& got, const reference::Array& want, const reference::Array& rounded,
           const reference::Array& terms = {}) {
    ASSERT_EQ(static_cast<int64_t>(got.size()), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double x = to_float(got[i]), y = want.values[i];
      const double term = terms.size() > 0 ? terms.values[i] : y;
      error += (x - y) * (x - y);
      unfused += (rounded.values[i] - y) * (rounded.values[i] - y);
      value += term * term;
    }
  }
  void expect_small(const char* name, int64_t K) const {
    const double floor = std::sqrt(static_cast<double>(K) * value) * 0x1p-24;
    EXPECT_LE(std::sqrt(error), 2 * std::sqrt(unfused) + floor) << name << ", value " << value;
  }
};

}  // namespace coda::catalogue
