// Memory that runs out is an exception for the caller, and nothing was written.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "coda/cpu/run.h"
#include "coda/rows/layer_norm.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// That may still be mapped.
void leave(int64_t bytes) {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) _exit(2);
  std::fclose(file);
  const auto most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) +
                    static_cast<rlim_t>(bytes);
  const rlimit limit{most, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
}

// In a process of its own, which has one thread: an exception may not leave any parallel region.
template <class Call, class Untouched>
void expect_bad_alloc(Call&& call, Untouched&& untouched) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    leave(kMiB);
    try {
      call();
    } catch (const std::bad_alloc&) {
      _exit(untouched() ? 0 : 5);
    }
    _exit(4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OutOfMemory, Gemm) {
  constexpr int64_t kSize = 600;
  static std::array<float, kSize * kSize> a, out;
  out.fill(7);
  const Matrix<float> x(a.data(), kSize, kSize), y(out.data(), kSize, kSize);
  expect_bad_alloc([&] { run(Product<float>{.out = y}, Operand(x), Operand(x), {.threads = 2}); },
                   [&] { return out[0] == 7 && out.back() == 7; });
}

TEST(OutOfMemory, RowOperation) {
  constexpr int64_t kColumns = int64_t{1} << 27;  // of which a thread keeps floats
  const auto reserve = [] {
    void* const memory = mmap(nullptr, kColumns * 2, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return Matrix<bf16>(static_cast<bf16*>(memory), 1, kColumns);
  };
  const Matrix<bf16> x = reserve(), out = reserve();
  ASSERT_NE(x.data, MAP_FAILED);
  ASSERT_NE(out.data, MAP_FAILED);
  row::LayerNormArguments arguments;
  arguments.x = arguments.gamma = arguments.beta = erase(x);
  arguments.epsilon = 1;
  arguments.out = erase(out);
  out.data[0] = from_float<bf16>(7.0f);
  expect_bad_alloc([&] { layer_norm(arguments, 2); }, [&] { return to_float(out.data[0]) == 7; });
  munmap(x.data, kColumns * 2);
  munmap(out.data, kColumns * 2);
}

}  // namespace
}  // namespace coda::cpu
