#include "coda/cpu/threads.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>

#include "coda/core/error.h"

namespace coda::cpu {
namespace {

std::atomic<bool> forked{false};

}  // namespace

int thread_count(const char* operation, int asked) {
  [[maybe_unused]] static const int watched =
      pthread_atfork(nullptr, nullptr, [] { forked = true; });
  if (asked < 0 || asked > kMaxThreads) {
    fail_argument(operation, "threads", fmt::format("0 (the default) to {}", kMaxThreads),
                  fmt::format("{}", asked));
  }
  if (forked) return 1;
  return asked > 0 ? asked : omp_get_max_threads();
}

}  // namespace coda::cpu
