#include "coda/cpu/threads.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>

#include "coda/core/error.h"
#include "coda/core/max_threads.h"

namespace coda::cpu {
namespace {

std::atomic<bool> had_threads{false}, forked{false};

// Of the process: each is a folder. Where nobody tells, there may be some.
bool has_other_threads() {
  struct stat tasks{};
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3;
}

// Registered when the library is loaded: OpenMP's threads may be there for another library.
[[maybe_unused]] const int watched =
    pthread_atfork([] { had_threads = has_other_threads(); }, nullptr,
                   [] {
                     if (had_threads) forked = true;
                   });

}  // namespace

int thread_count(const char* operation, int asked) {
  if (asked < 0 || asked > kMaxThreads) {
    fail_argument(operation, "threads", fmt::format("0 (the default) to {}", kMaxThreads),
                  fmt::format("{}", asked));
  }
  if (forked) return 1;
  return asked > 0 ? asked : std::min(omp_get_max_threads(), kMaxThreads);
}

}  // namespace coda::cpu
