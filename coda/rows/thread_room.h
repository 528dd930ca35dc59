// Floats for each thread of a parallel region, not set. Made before it: in one, running out of
// memory would end the process. Host only.
#pragma once
#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coda::row {

class ThreadRoom {
 public:
  ThreadRoom(int threads, int64_t floats)
      : stride_(static_cast<size_t>((floats + 15) / 16 * 16)),  // whole cache lines
        memory_(new float[static_cast<size_t>(threads) * stride_]) {}

  float* mine() const {
    return memory_.get() + static_cast<size_t>(omp_get_thread_num()) * stride_;
  }

 private:
  size_t stride_;
  std::unique_ptr<float[]> memory_;
};

}  // namespace coda::row
