// Cross-entropy with its three ways to the gradients on the CPU, against fp64.
#include "coda/catalogue/cross_entropy.h"

#include <gtest/gtest.h>

#include <memory>

#include "cross_entropy_case.h"

namespace coda::catalogue {
namespace {

using reference::Array;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Workspace {
 public:
  explicit Workspace(int64_t bytes) : memory_(static_cast<size_t>(bytes) + 256, std::byte{0xff}) {
    void* data = memory_.data();
    size_t space = memory_.size();
    view_ = {std::align(256, static_cast<size_t>(bytes), data, space), bytes};
  }
  const CrossEntropyWorkspace& view() const { return view_; }

 private:
  std::vector<std::byte> memory_;
  CrossEntropyWorkspace view_;
};

enum class Policy { kDuringForward, kKeptLogits, kRecompute };

// Everything that comes out of forward and backward.
template <class T>
struct Results {
  Results(const CrossEntropyShape& s, LossReduction reduction, Policy policy)
      : loss(reduction == LossReduction::kNone ? static_cast<size_t>(s.M) : 1, kNan),
        lse(static_cast<size_t>(s.M), kNan),
        dweight(static_cast<size_t>(s.V * s.h), kNan),
        dots(static_cast<size_t>((policy == Policy::kRecompute ? (s.V + 127) / 128 : 1) * s.M),
             kNan),
        dx_sum(policy == Policy::kRecompute ? static_cast<size_t>(s.M * s.h) : 0, kNan),
        dx(policy == Policy::kRecompute ? 0 : static_cast<size_t>(s.M * s.h), from_float<T>(kNan)) {
  }

  std::vector<float> loss, lse, dweight, dots, dx_sum;
  std::vector<T> dx;
};

template <class T>
Results<T> run(const CrossEntropyCase<T>& c, const CrossEntropyShape& s, Policy policy,
               int64_t chunk, const float* dloss = nullptr) {
  const CrossEntropy<T> p = c.problem();
  Results<T> r(s, p.options.reduction, policy);
  const CrossEntropyLoss outputs{r.loss.data(), r.lse.data(), nullptr};
  CrossEntropyGradients<T> g;
  g.dloss = p.options.reduction == LossReduction::kNone ? c.dloss_rows.data() : dloss;
  g.dweight = {r.dweight.data(), s.V, s.h};
  if (policy == Policy::kRecompute) {
    g.dx_sum = {r.dx_sum.data(), s.M, s.h};
  } else {
    g.dx = {r.dx.data(), s.M, s.h};
  }
  if (s.norm) g.dots = {r.dots.data(), policy == Policy::kRecompute ? (s.V + 127) / 128 : 1, s.M};
  if (policy == Policy::kDuringForward) {
    const Workspace workspace(cross_entropy_with_gradients_bytes(s.M, s.V, chunk, dtype_of<T>));
    cross_entropy_with_gradients({}, p, outputs, g, chunk, workspace.view());
    return r;
  }
  std::vector<T> logits(static_cast<size_t>(s.M * s.V), from_float<T>(kNan));
  Matrix<T> kept(policy == Policy::kKeptLogits ? logits.data() : nullptr, s.M, s.V);
  const Workspace forward(cross_entropy_bytes(s.M, s.V));
  cross_entropy({}, p, outputs, kept, forward.view());
  if (policy == Policy::kKeptLogits) {
    const Workspace workspace(cross_entropy_backward_bytes());
    cross_entropy_backward({}, p, r.lse.data(), Matrix<const T>(kept), kept, g, workspace.view());
  } else {
    const Workspace workspace(cross_entropy_recompute_bytes(s.M, s.V, chunk, dtype_of<T>));
    cross_entropy_recompute({}, p, r.lse.data(), g, chunk, workspace.view());
  }
  return r;
}

// Of few rows several draws: the errors of a few numbers say little.
template <class T>
void check(const CrossEntropyShape& s, const CrossEntropyOptions& options, Policy policy,
           int64_t chunk) {
  SCOPED_TRACE(testing::Message() << "M=" << s.M << " V=" << s.V << " h=" << s.h
                                  << " norm=" << s.norm << " cap=" << options.soft_cap << " z_loss="
                                  << options.z_loss << " smoothing=" << options.smoothing
                                  << " reduction=" << static_cast<int>(options.reduction)
                                  << " policy=" << static_cast<int>(policy) << " chunk=" << chunk
                                  << " bytes=" << sizeof(T));
  Errors lse, loss, dweight, dx, dots;
  for (int64_t done = 0, seed = 1; done < 32; done += s.M, ++seed) {
    const CrossEntropyCase<T> c(s, options, static_cast<uint32_t>(seed));
    const float dloss = 0.75f;
    const Results<T> got = run(c, s, policy, chunk, &dloss);
    const CrossEntropyWant want = c.exact(0.75), unfused = c.unfused(0.75);
    lse.add(got.lse, want.lse, unfused.lse);
    if (options.reduction == LossReduction::kNone) {
      loss.add(got.loss, want.loss, unfused.loss);
    } else {
      loss.add(got.loss, Array(want.total), Array(unfused.total));
    }
    dweight.add(got.dweight, want.dweight, unfused.dweight);
    if (policy == Policy::kRecompute) {
      dx.add(got.dx_sum, want.dx, unfused.dx);
    } else {
      dx.add(got.dx, want.dx, unfused.dx);
    }
    if (!s.norm) continue;
    std::vector<float> sums(static_cast<size_t>(s.M));
    for (size_t i = 0; i < got.dots.size(); ++i) sums[i % sums.size()] += got.dots[i];
    dots.add(sums, want.dots, unfused.dots, want.dot_terms);
  }
  const int64_t K = std::max(s.h, s.V);
  lse.expect_small("lse", K);
  loss.expect_small("loss", K + s.M);
  dweight.expect_small("dweight", K + s.M);
  dx.expect_small("dx", K);
  dots.expect_small("dots", K);
}

constexpr Policy kPolicies[] = {Policy::kDuringForward, Policy::kKeptLogits, Policy::kRecompute};

template <class T>
void check_all_options() {
  for (const bool norm : {false, true}) {
    for (const float cap : {0.0f, 2.0f}) {
      for (const float z_loss : {0.0f, 0.125f}) {
        for (const float smoothing : {0.0f, 0.25f}) {
          for (const LossReduction reduction :
               {LossReduction::kNone, LossReduction::kSum, LossReduction::kMean}) {
            for (const Policy policy : kPolicies) {
              const bool each_row = reduction == LossReduction::kNone;
              if (each_row && policy == Policy::kDuringForward) continue;
              CrossEntropyShape s;
              s.M = 37, s.norm = norm;
              check<T>(s, {cap, z_loss, smoothing, -100, reduction}, policy,
                       policy == Policy::kRecompute ? 128 : 16);
            }
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, AllOptionsInFp32) { check_all_options<float>(); }
TEST(CrossEntropy, AllOptionsInBf16) { check_all_options<bf16>(); }

TEST(CrossEntropy, Shapes) {
  for (const int64_t M : {1, 2, 65}) {
    for (const int64_t V : {1, 2, 127, 128, 129, 1000}) {
      for (const Policy policy : kPolicies) {
        CrossEntropyShape s;
        s.M = M, s.V = V, s.h = 24, s.norm = true;
        check<float>(s, {}, policy, policy == Policy::kRecompute ? 256 : 1);
        check<bf16>(s, {}, policy, policy == Policy::kRecompute ? 1024 : 1000);
      }
    }
  }
}

// One logit far above the others: p of the rounded logits has to be normalised over them.
TEST(CrossEntropy, LargeLogits) {
  for (const double scale : {30.0, 1e4}) {
    for (const Policy policy : kPolicies) {
      CrossEntropyShape s;
      s.M = 50, s.V = 200, s.h = 32, s.logit_scale = scale;
      check<float>(s, {}, policy, 128);
      check<bf16>(s, {}, policy, 128);
    }
  }
}

TEST(CrossEntropy, ChunksDoNotMatterButForRounding) {
  CrossEntropyShape s;
  s.M = 64;
  const CrossEntropyCase<float> c(s, {});
  const auto whole = run(c, s, Policy::kDuringForward, 64);
  for (const int64_t chunk : {1, 3, 63, 1000}) {
    const auto got = run(c, s, Policy::kDuringForward, chunk);
    EXPECT_EQ(got.lse, whole.lse);
    EXPECT_EQ(got.loss, whole.loss);
    EXPECT_EQ(got.dx, whole.dx);
  }
}

TEST(CrossEntropy, AddsToTheGradientOfTheWeight) {
  CrossEntropyShape s;
  s.M = 5, s.V = 3, s.h = 4;
  const CrossEntropyCase<float> c(s, {});
  const CrossEntropy<float> p = c.problem();
  const auto written = run(c, s, Policy::kDuringForward, 2);
  Results<float> r(s, LossReduction::kMean, Policy::kDuringForward);
  r.dweight.assign(r.dweight.size(), 1024.0f);
  CrossEntropyGradients<float> g;
  g.dweight = {r.dweight.data(), s.V, s.h};
  g.add_to_dweight = true;
  g.dx = {r.dx.data(), s.M, s.h};
  const Workspace workspace(cross_entropy_with_gradients_bytes(s.M, s.V, 2, DType::kFp32));
  cross_entropy_with_gradients({}, p, {r.loss.data(), r.lse.data()}, g, 2, workspace.view());
  for (size_t i = 0; i < r.dweight.size(); ++i) {
    EXPECT_NEAR(r.dweight[i], 1024 + written.dweight[i], 1e-3);
  }
}

// The step that makes the gradient by x may be the caller's: it gets every row (and column) once.
TEST(CrossEntropy, InputGradByTheCaller) {
  for (const Policy policy : kPolicies) {
    CrossEntropyShape s;
    s.M = 10, s.V = 300, s.norm = true;
    const CrossEntropyCase<float> c(s, {});
    Results<float> r(s, LossReduction::kMean, policy);
    const CrossEntropyWant want = c.exact();
    Array dx(s.M, s.h), dots(1, s.M);
    CrossEntropyGradients<float> g;
    g.dweight = {r.dweight.data(), s.V, s.h};
    g.dots = {r.dots.data(), policy == Policy::kRecompute ? 3 : 1, s.M};
    g.input_grad = [&](const InputGradStep<float>& step) {
      for (int64_t i = 0; i < step.dz.rows; ++i) {
        for (int64_t part = 0; part < step.dots.rows; ++part) {
          dots(0, step.first_row + i) += step.dots.data[part * step.dots.ld + i];
        }
        for (int64_t k = 0; k < s.h; ++k) {
          double& sum = dx(step.first_row + i, k);
          EXPECT_TRUE(!step.first || sum == 0);
          for (int64_t v = 0; v < step.dz.columns; ++v) {
            sum += step.dz.data[i * step.dz.ld + v] * step.weight.data[v * step.weight.ld + k];
          }
        }
      }
    };
    const CrossEntropyLoss outputs{r.loss.data(), r.lse.data()};
    const CrossEntropy<float> p = c.problem();
    std::vector<float> logits(static_cast<size_t>(s.M * s.V));
    const Matrix<float> kept(logits.data(), s.M, s.V);
    const Workspace w(cross_entropy_bytes(s.M, s.V) +
                      cross_entropy_with_gradients_bytes(s.M, s.V, 4, DType::kFp32));
    if (policy == Policy::kDuringForward) {
      cross_entropy_with_gradients({}, p, outputs, g, 4, w.view());
    } else {
      cross_entropy({}, p, outputs, kept, w.view());
      if (policy == Policy::kKeptLogits) {
        cross_entropy_backward({}, p, r.lse.data(), Matrix<const float>(kept), kept, g, w.view());
      } else {
        cross_entropy_recompute({}, p, r.lse.data(), g, 128, w.view());
      }
    }
    for (int64_t i = 0; i < dx.size(); ++i) {
      EXPECT_NEAR(dx.values[static_cast<size_t>(i)], want.dx.values[static_cast<size_t>(i)], 1e-6);
    }
    for (int64_t m = 0; m < s.M; ++m) EXPECT_NEAR(dots(0, m), want.dots(0, m), 1e-6);
  }
}

}  // namespace
}  // namespace coda::catalogue
