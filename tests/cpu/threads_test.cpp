// Same bits for every number of threads on data where the order of additions shows, and the error
// of a sum of K products.
#include "coda/cpu/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <vector>

#include "tests/cpu/every_way.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

// The first test here: nothing has made threads yet.
TEST(AForkedProcess, HasAsManyThreadsWhereItsParentHadOne) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(thread_count("test", 2));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

using Shape = std::array<int64_t, 3>;  // M, N, K

template <class T>
Tensor<T> random_tensor(int64_t rows, int64_t columns, uint32_t seed) {
  std::minstd_rand random(seed);
  std::normal_distribution<double> normal;
  Tensor<T> result(rows, columns);
  result.fill([&](int64_t, int64_t) { return normal(random); });
  return result;
}

// |fl(Σ aₖbₖ) - Σ aₖbₖ| ≤ K·2^-24/(1 - K·2^-24)·Σ|aₖbₖ|, whatever the order.
template <class T>
void expect_rounding_only(const Tensor<float>& out, const Tensor<T>& a, const Tensor<T>& b) {
  const int64_t K = a.columns();
  const double factor = static_cast<double>(K) * 0x1p-24 / (1 - static_cast<double>(K) * 0x1p-24);
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t j = 0; j < b.rows(); ++j) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < K; ++k) {
        sum += a.value(i, k) * b.value(j, k);
        size += std::abs(a.value(i, k) * b.value(j, k));
      }
      ASSERT_NEAR(out.value(i, j), sum, factor * size) << i << ", " << j;
    }
  }
}

template <class T>
void check_threads(Shape shape) {
  const int64_t M = shape[0], N = shape[1], K = shape[2];
  SCOPED_TRACE(testing::Message() << dtype_name(dtype_of<T>) << " M " << M << " N " << N << " K "
                                  << K);
  const Tensor<T> a = random_tensor<T>(M, K, 1), b = random_tensor<T>(N, K, 2);
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    Tensor<float> first(M, N);
    run(Product<float>{.out = first.view()}, Operand(a.view()), Operand(b.view()),
        {.threads = 1, .isa = isa});
    expect_rounding_only(first, a, b);
    for (const int threads : {1, 2, 3, 7}) {
      Tensor<float> out(M, N);
      run(Product<float>{.out = out.view()}, Operand(a.view()), Operand(b.view()),
          {.threads = threads, .isa = isa});
      EXPECT_TRUE(out.same_bits(first)) << threads << " threads";
    }
  }
}

template <class T>
void check_rows_beside(int64_t K) {
  const int64_t M = 300, N = 70;
  const auto a = random_tensor<T>(M, K, 1), b = random_tensor<T>(N, K, 2);
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const auto multiply = [&](const Tensor<T>& rows, Tensor<float>& out) {
      run(Product<float>{.out = out.view()}, Operand(rows.view()), Operand(b.view()), {.isa = isa});
    };
    Tensor<float> all(M, N);
    multiply(a, all);
    std::vector<int64_t> counts = {64, 250, 256, 257};
    for (int64_t count = 1; count < 27; ++count) counts.push_back(count);
    for (const int64_t count : counts) {
      Tensor<T> some(count, K);
      some.fill([&](int64_t i, int64_t k) { return a.value(M - count + i, k); });
      Tensor<float> out(count, N), expected(count, N);
      multiply(some, out);
      expected.fill([&](int64_t i, int64_t j) { return all.value(M - count + i, j); });
      EXPECT_TRUE(out.same_bits(expected)) << count << " rows";
    }
  }
}

template <class T>
class ThreadsTest : public testing::Test {};
using OperandTypes = testing::Types<bf16, fp16, float>;
TYPED_TEST_SUITE(ThreadsTest, OperandTypes);

TYPED_TEST(ThreadsTest, SameBits) {
  check_threads<TypeParam>({150, 290, 130});
  check_threads<TypeParam>({33, 70, 700});
  check_threads<TypeParam>({20, 3, 30000});  // in slices
  check_threads<TypeParam>({2, 3, 30000});   // in slices, few rows
  check_threads<TypeParam>({70, 70, 3001});
}

// Few rows take other ways than many (job.h); their additions have the same order.
TYPED_TEST(ThreadsTest, SameBitsWhateverRowsStandBeside) {
  for (const int64_t K : {1000, 1001}) check_rows_beside<TypeParam>(K);
}

// Reductions, whose partials could depend on how tiles are dealt out.
TEST(ThreadsTest, SameBitsOfPartials) {
  const int64_t M = 300, N = 500, K = 40;
  const Tensor<bf16> a = random_tensor<bf16>(M, K, 1), b = random_tensor<bf16>(N, K, 2);
  Tensor<float> row_sum((N + 63) / 64, M), row_max((N + 127) / 128, M),
      column_sum((M + 63) / 64, N);
  Tensor<LogSumExp::State<float>> row_lse((N + 63) / 64, M), column_lse((M + 63) / 64, N);
  Tensor<Spread::State<float>> row_all((N + 127) / 128, M), column_all((M + 63) / 64, N);
  const Reduced program{.row_sum = row_sum.view(),
                        .row_max = row_max.view(),
                        .row_lse = row_lse.view(),
                        .row_all = row_all.view(),
                        .column_sum = column_sum.view(),
                        .column_lse = column_lse.view(),
                        .column_all = column_all.view()};
  const auto call = [&](const Options& options) {
    run(program, Operand(a.view()), Operand(b.view()), options);
  };
  const auto written = [&] {
    for (int64_t i = 0; i < M; ++i) EXPECT_TRUE(std::isfinite(row_sum(0, i)));
  };
  every_way(call, written, row_sum, row_max, row_lse, row_all, column_sum, column_lse, column_all);
}

TEST(ThreadsTest, RerunsGiveTheSameBits) {
  const Tensor<float> a = random_tensor<float>(100, 333, 1), b = random_tensor<float>(130, 333, 2);
  Tensor<float> first(100, 130);
  run(Product<float>{.out = first.view()}, Operand(a.view()), Operand(b.view()));
  for (int repeat = 0; repeat < 5; ++repeat) {
    Tensor<float> out(100, 130);
    run(Product<float>{.out = out.view()}, Operand(a.view()), Operand(b.view()));
    EXPECT_TRUE(out.same_bits(first));
  }
}

// gcc's OpenMP would wait for threads that the child does not have, whoever made them.
TEST(ThreadsTest, RunsInAForkedProcess) {
  const Tensor<float> a = random_tensor<float>(300, 60, 1), b = random_tensor<float>(290, 60, 2);
  const auto in_child = [&](const Tensor<float>* expected) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      Tensor<float> out(300, 290);
      run(Product<float>{.out = out.view()}, Operand(a.view()), Operand(b.view()), {.threads = 2});
      _exit(expected == nullptr || out.same_bits(*expected) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  };
  std::atomic<int> seen{0};
#pragma omp parallel num_threads(2)
  ++seen;
  ASSERT_EQ(seen, 2);
  in_child(nullptr);
  Tensor<float> first(300, 290);
  run(Product<float>{.out = first.view()}, Operand(a.view()), Operand(b.view()), {.threads = 2});
  in_child(&first);
}

}  // namespace
}  // namespace coda::cpu
