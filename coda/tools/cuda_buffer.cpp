#include "coda/tools/cuda_buffer.h"

#include <algorithm>

#include "coda/plan/cuda.h"

namespace coda::tools {

CudaBuffer::CudaBuffer(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
  cuda::check(cudaMalloc(&data_, bytes_), "cudaMalloc");
}

void CudaBuffer::fill(int byte) const {
  cuda::check(cudaMemset(data_, byte, bytes_), "cudaMemset");
}

// Once from the host, then from what is already there.
void CudaBuffer::fill(const void* pattern, size_t length) const {
  auto* data = static_cast<std::byte*>(data_);
  size_t done = std::min(bytes_, length);
  cuda::check(cudaMemcpy(data, pattern, done, cudaMemcpyHostToDevice), "cudaMemcpy");
  while (done < bytes_) {
    const size_t more = std::min(done, bytes_ - done);
    cuda::check(cudaMemcpy(data + done, data, more, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    done += more;
  }
}

void CudaBuffer::copy_to_host(void* to, int64_t begin, int64_t bytes) const {
  cuda::check(cudaMemcpy(to, static_cast<const std::byte*>(data_) + begin,
                         static_cast<size_t>(bytes), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
}

}  // namespace coda::tools
