// How many threads an operation runs on. Host only.
#pragma once

namespace coda::cpu {

// asked: 0 is OpenMP's default. One in a process that was forked from one with several threads:
// gcc's OpenMP would wait there for those that only its parent has. Throws coda::Error naming the
// operation.
int thread_count(const char* operation, int asked);

}  // namespace coda::cpu
