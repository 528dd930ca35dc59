// Copies to the GPU that the host need not wait for: through a ring of pages that stay in memory, in
// order with what else runs on the stream. Host only.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

namespace coda::block {

class Staging {
 public:
  explicit Staging(cudaStream_t stream);
  ~Staging();  // after the stream's work is done
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // `from` may change as soon as this returns.
  void copy_in(void* to, const void* from, size_t bytes);

 private:
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  struct Piece {
    void* data = nullptr;
    cudaEvent_t copied = nullptr;
  };

  void release();

  cudaStream_t stream_;
  std::array<Piece, 8> ring_;
  size_t next_ = 0;
};

}  // namespace coda::block
