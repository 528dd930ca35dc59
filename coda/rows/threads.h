// How many threads a row operation runs on the CPU. Host only.
#pragma once
#include <omp.h>

#include <string>

#include "coda/core/error.h"

namespace coda::row {

inline int thread_count(const char* operation, int threads) {
  if (threads < 0) {
    fail_argument(operation, "threads", "0 (the default) or more", std::to_string(threads));
  }
  return threads > 0 ? threads : omp_get_max_threads();
}

}  // namespace coda::row
