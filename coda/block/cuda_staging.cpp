#include "coda/block/cuda_staging.h"

#include <algorithm>
#include <cstring>

#include "coda/plan/cuda.h"

namespace coda::block {

using cuda::check;

Staging::Staging(cudaStream_t stream) : stream_(stream) {
  try {
    for (Piece& piece : ring_) {
      check(cudaMallocHost(&piece.data, kPieceBytes), "cudaMallocHost");
      check(cudaEventCreateWithFlags(&piece.copied, cudaEventDisableTiming),
            "cudaEventCreateWithFlags");
    }
  } catch (...) {
    release();
    throw;
  }
}

Staging::~Staging() { release(); }

void Staging::release() {
  for (Piece& piece : ring_) {
    if (piece.copied != nullptr) cudaEventDestroy(piece.copied);
    cudaFreeHost(piece.data);
  }
}

void Staging::copy_in(void* to, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t size = std::min(bytes - done, kPieceBytes);
    const Piece& piece = ring_[next_];
    next_ = (next_ + 1) % ring_.size();
    check(cudaEventSynchronize(piece.copied), "cudaEventSynchronize");  // at once if never recorded
    std::memcpy(piece.data, static_cast<const std::byte*>(from) + done, size);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, piece.data, size,
                          cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
    check(cudaEventRecord(piece.copied, stream_), "cudaEventRecord");
    done += size;
  }
}

}  // namespace coda::block
