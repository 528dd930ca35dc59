// Memory asked for during a run: as much as tiles need, whatever M·N.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "coda/cpu/run.h"
#include "tests/core/watch_allocations.h"
#include "tests/cpu/programs.h"

namespace {
std::atomic<size_t> allocated{0};
}

void see_allocation(size_t bytes) { allocated += bytes; }

namespace coda::cpu {
namespace {

// Bytes that a call asks for, on a thread that keeps nothing from earlier calls, and when it is
// repeated.
struct Bytes {
  size_t first = 0, again = 0;
};

template <class Call>
Bytes bytes_of(Call call) {
  Bytes bytes;
  std::thread([&] {
    size_t before = allocated;
    call();
    bytes.first = allocated - before;
    before = allocated;
    call();
    bytes.again = allocated - before;
  }).join();
  return bytes;
}

class AllocationTest : public testing::TestWithParam<int> {
 protected:
  int threads = GetParam();
  Bytes of_product(int64_t M, int64_t N, int64_t K) {
    std::vector<float> a(M * K, 1.0f), b(N * K, 1.0f), out(M * N);
    return bytes_of([&] {
      run(Product<float>{.out = Matrix(out.data(), M, N)}, Operand(Matrix(a.data(), M, K)),
          Operand(Matrix(b.data(), N, K)), {.threads = threads});
    });
  }
  Bytes of_reductions(int64_t M, int64_t N, int64_t K) {
    const int64_t row_parts = (N + 63) / 64, column_parts = (M + 63) / 64;
    std::vector<float> a(M * K, 1.0f), b(N * K, 1.0f), out(M * N), rows(row_parts * M),
        columns(column_parts * N);
    const WithOptional program{.rows = Matrix(rows.data(), row_parts, M),
                               .columns = Matrix(columns.data(), column_parts, N),
                               .out = Matrix(out.data(), M, N)};
    return bytes_of([&] {
      run(program, Operand(Matrix(a.data(), M, K)), Operand(Matrix(b.data(), N, K)),
          {.threads = threads});
    });
  }
};

TEST(AllocationCountTest, CountsWhatIsAllocated) {
  const Bytes bytes = bytes_of([] { std::vector<char> memory(1 << 20); });
  EXPECT_GE(bytes.first, size_t{1} << 20);
  EXPECT_GE(bytes.again, size_t{1} << 20);
}

// A tile's panels and accumulators, for each thread; the larger outputs here have 25 MiB and 64
// MiB.
constexpr size_t kTileBytes = size_t{8} << 20;

TEST_P(AllocationTest, DoesNotGrowWithTheOutput) {
  const size_t limit = kTileBytes * static_cast<size_t>(threads);
  const int64_t sizes[][2] = {{512, 512}, {4096, 4096}, {64, 100000}, {100000, 64}};
  for (const auto& [M, N] : sizes) {
    EXPECT_LT(of_product(M, N, 8).first, limit) << M << " by " << N;
    EXPECT_LT(of_reductions(M, N, 8).first, limit) << M << " by " << N;
  }
}

TEST_P(AllocationTest, RepeatedRunsAskForNextToNothing) {
  EXPECT_LT(of_product(1024, 1024, 64).again, 16384u);
  EXPECT_LT(of_reductions(1024, 1024, 64).again, 16384u);
}

// Slices of a long contraction keep one accumulator tile each, for an output of at most 256 by 256.
TEST_P(AllocationTest, DoesNotGrowWithTheContraction) {
  const size_t shorter = of_product(64, 64, 32768).first, longer = of_product(64, 64, 262144).first;
  EXPECT_LE(longer, shorter + 4096);
}

INSTANTIATE_TEST_SUITE_P(Threads, AllocationTest, testing::Values(1, 2));

}  // namespace
}  // namespace coda::cpu
