// Cross-entropy with its three ways to the gradients on the GPU, against fp64. Skipped where there
// is none.
#include <gtest/gtest.h>

#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#include "cross_entropy_case.h"
#include "tests/program/expect_error.h"

namespace coda::catalogue {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Memory that both sides see.
template <class T>
class Managed {
 public:
  explicit Managed(int64_t count, T value = {}) : count_(static_cast<size_t>(count)) {
    void* data = nullptr;
    cuda::check(cudaMallocManaged(&data, (count_ + 1) * sizeof(T)), "cudaMallocManaged");
    data_ = static_cast<T*>(data);
    std::fill_n(data_, count_, value);
  }
  explicit Managed(const std::vector<T>& values) : Managed(static_cast<int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), data_);
  }
  ~Managed() { cudaFree(data_); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;

  T* data() { return data_; }
  std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

enum class Policy { kDuringForward, kKeptLogits, kRecompute };

struct Sums {
  Errors lse, loss, dweight, dx, dots;
};

void run(const CrossEntropyShape& s, const CrossEntropyOptions& options, Policy policy,
         int64_t chunk, uint32_t seed, Sums& sums) {
  const CrossEntropyCase<bf16> c(s, options, seed);
  Managed<bf16> x(c.x), weight(c.weight), dx(s.M * s.h, from_float<bf16>(kNan));
  Managed<int64_t> target(c.target);
  Managed<float> squares(c.squares), dloss_rows(c.dloss_rows), dloss(1, 0.75f);
  const bool each_row = options.reduction == LossReduction::kNone;
  const int64_t parts = policy == Policy::kRecompute ? (s.V + 127) / 128 : 1;
  const int64_t line = (s.V + 7) / 8 * 8;
  Managed<float> loss(each_row ? s.M : 1, kNan), lse(s.M, kNan), dweight(s.V * s.h, kNan);
  Managed<float> dots(parts * s.M, kNan), dx_sum(s.M * s.h, kNan);
  Managed<bf16> logits(s.M * line);
  Managed<int32_t> error(1);

  CrossEntropy<bf16> p = c.problem();
  p.x.data = x.data();
  p.weight.data = weight.data();
  p.target = target.data();
  if (s.norm) p.rstd.view[0].data = squares.data();
  const CrossEntropyLoss outputs{loss.data(), lse.data(), error.data()};
  CrossEntropyGradients<bf16> g;
  g.dloss = each_row ? dloss_rows.data() : dloss.data();
  g.dweight = {dweight.data(), s.V, s.h};
  g.dx = {dx.data(), s.M, s.h};
  g.dx_sum = {dx_sum.data(), s.M, s.h};
  if (s.norm) g.dots = {dots.data(), parts, s.M};
  const int64_t bytes = cross_entropy_bytes(s.M, s.V) +
                        (policy == Policy::kRecompute
                             ? cross_entropy_recompute_bytes(s.M, s.V, chunk, DType::kBf16)
                             : cross_entropy_with_gradients_bytes(s.M, s.V, chunk, DType::kBf16));
  Managed<std::byte> memory(bytes);
  const CrossEntropyWorkspace workspace{memory.data(), bytes};
  const cuda::Target on{};
  const Matrix<bf16> kept(logits.data(), s.M, s.V, line);
  if (policy == Policy::kDuringForward) {
    cross_entropy_with_gradients(OnCuda{on}, p, outputs, g, chunk, workspace);
  } else if (policy == Policy::kKeptLogits) {
    cross_entropy(OnCuda{on}, p, outputs, kept, workspace);
    cross_entropy_backward(OnCuda{on}, p, lse.data(), Matrix<const bf16>(kept), kept, g, workspace);
  } else {
    cross_entropy(OnCuda{on}, p, outputs, {}, workspace);
    cross_entropy_recompute(OnCuda{on}, p, lse.data(), g, chunk, workspace);
  }
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  const CrossEntropyWant want = c.exact(0.75), unfused = c.unfused(0.75);
  EXPECT_EQ(error.values()[0], 0);
  sums.lse.add(lse.values(), want.lse, unfused.lse);
  if (each_row) {
    sums.loss.add(loss.values(), want.loss, unfused.loss);
  } else {
    sums.loss.add(loss.values(), reference::Array(want.total), reference::Array(unfused.total));
  }
  sums.dweight.add(dweight.values(), want.dweight, unfused.dweight);
  if (policy == Policy::kRecompute) {
    sums.dx.add(dx_sum.values(), want.dx, unfused.dx);
  } else {
    sums.dx.add(dx.values(), want.dx, unfused.dx);
  }
  if (!s.norm) return;
  std::vector<float> row_sums(static_cast<size_t>(s.M));
  for (int64_t i = 0; i < parts * s.M; ++i) {
    row_sums[static_cast<size_t>(i % s.M)] += dots.data()[i];
  }
  sums.dots.add(row_sums, want.dots, unfused.dots, want.dot_terms);
}

void check(const CrossEntropyShape& s, const CrossEntropyOptions& options, Policy policy,
           int64_t chunk) {
  SCOPED_TRACE(testing::Message() << "M=" << s.M << " V=" << s.V << " h=" << s.h
                                  << " norm=" << s.norm << " cap=" << options.soft_cap << " z_loss="
                                  << options.z_loss << " smoothing=" << options.smoothing
                                  << " reduction=" << static_cast<int>(options.reduction)
                                  << " policy=" << static_cast<int>(policy) << " chunk=" << chunk);
  Sums sums;
  uint32_t seed = 1;
  for (int64_t done = 0; done < 32; done += s.M) run(s, options, policy, chunk, seed++, sums);
  const int64_t K = std::max(s.h, s.V);
  sums.lse.expect_small("lse", K);
  sums.loss.expect_small("loss", K + s.M);
  sums.dweight.expect_small("dweight", K + s.M);
  sums.dx.expect_small("dx", K);
  sums.dots.expect_small("dots", K);
}

constexpr Policy kPolicies[] = {Policy::kDuringForward, Policy::kKeptLogits, Policy::kRecompute};

TEST(CrossEntropyCuda, AllOptions) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  for (const int options : {0, 1, 2, 3, 4, 5, 6, 7}) {
    for (const Policy policy : kPolicies) {
      for (const LossReduction reduction :
           {LossReduction::kNone, LossReduction::kSum, LossReduction::kMean}) {
        if (reduction == LossReduction::kNone && policy == Policy::kDuringForward) continue;
        CrossEntropyShape s;
        s.M = 70, s.h = 72, s.norm = options % 2 == 1;
        check(s,
              {options & 1 ? 2.0f : 0.0f, options & 2 ? 0.125f : 0.0f, options & 4 ? 0.25f : 0.0f,
               -100, reduction},
              policy, policy == Policy::kRecompute ? 128 : 32);
      }
    }
  }
}

TEST(CrossEntropyCuda, Shapes) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  for (const int64_t M : {1, 300}) {
    for (const int64_t V : {1, 129, 1001}) {
      for (const Policy policy : kPolicies) {
        CrossEntropyShape s;
        s.M = M, s.V = V, s.h = 64, s.norm = true;
        check(s, {}, policy, 128);
      }
    }
  }
}

TEST(CrossEntropyCuda, LargeLogits) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  for (const Policy policy : kPolicies) {
    CrossEntropyShape s;
    s.M = 50, s.V = 200, s.h = 32, s.logit_scale = 1e4;
    check(s, {}, policy, 128);
  }
}

// A bad target makes its own row NaN and says so; nothing is read or written beyond.
TEST(CrossEntropyCuda, BadTargets) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  for (const int64_t bad : {int64_t{-1}, int64_t{200}, int64_t{1} << 40}) {
    CrossEntropyShape s;
    s.M = 3, s.V = 200, s.h = 32, s.ignored = 0;
    const CrossEntropyCase<bf16> c(s, {});
    Managed<bf16> x(c.x), weight(c.weight);
    Managed<int64_t> target(c.target);
    target.data()[1] = bad;
    Managed<float> loss(s.M, kNan), lse(s.M, kNan);
    Managed<int32_t> error(1);
    CrossEntropy<bf16> p = c.problem();
    p.x.data = x.data();
    p.weight.data = weight.data();
    p.target = target.data();
    p.options.reduction = LossReduction::kNone;
    Managed<std::byte> memory(cross_entropy_bytes(s.M, s.V));
    const cuda::Target on{};
    cross_entropy(OnCuda{on}, p, {loss.data(), lse.data(), error.data()}, {},
                  {memory.data(), cross_entropy_bytes(s.M, s.V)});
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    EXPECT_EQ(error.values()[0], 1);
    EXPECT_FALSE(std::isnan(loss.values()[0]));
    EXPECT_TRUE(std::isnan(loss.values()[1]));
    EXPECT_FALSE(std::isnan(loss.values()[2]));
  }
}

// What TMA cannot move, and host memory, are refused before the first of several kernels.
TEST(CrossEntropyCuda, RefusedBeforeAnythingIsWritten) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  CrossEntropyShape s;
  s.M = 3, s.V = 200, s.h = 32;
  const CrossEntropyCase<bf16> c(s, {});
  Managed<bf16> x(c.x), weight(c.weight), dx(s.M * (s.h + 1));
  std::vector<bf16> on_host(c.x);
  Managed<int64_t> target(c.target);
  Managed<float> loss(1, kNan), lse(s.M, kNan), dweight(s.V * s.h, kNan), dloss(1, 1);
  const int64_t bytes = cross_entropy_with_gradients_bytes(s.M, s.V, s.M, DType::kBf16);
  Managed<std::byte> memory(bytes);
  CrossEntropy<bf16> p = c.problem();
  p.weight.data = weight.data();
  p.target = target.data();
  p.options.reduction = LossReduction::kSum;
  CrossEntropyGradients<bf16> g;
  g.dloss = dloss.data();
  g.dweight = {dweight.data(), s.V, s.h};
  const cuda::Target on{};
  const auto refused = [&](const bf16* rows, int64_t pitch,
                           std::initializer_list<std::string> parts) {
    p.x.data = rows;
    g.dx = {dx.data(), s.M, s.h, pitch};
    expect_error(
        [&] {
          cross_entropy_with_gradients(OnCuda{on}, p, {loss.data(), lse.data(), nullptr}, g, s.M,
                                       {memory.data(), bytes});
        },
        parts);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (const auto& values : {loss.values(), lse.values(), dweight.values()}) {
      for (const float value : values) EXPECT_TRUE(std::isnan(value));
    }
  };
  refused(x.data(), s.h + 1, {"'dx'", "16 bytes"});
  refused(on_host.data(), s.h, {"'x'"});
}

}  // namespace
}  // namespace coda::catalogue
#endif
