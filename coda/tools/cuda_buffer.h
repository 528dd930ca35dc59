// Memory of the GPU.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace coda::tools {

class CudaBuffer {
 public:
  explicit CudaBuffer(int64_t bytes);
  ~CudaBuffer() { cudaFree(data_); }
  CudaBuffer(CudaBuffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  void* data() const { return data_; }
  void fill(int byte) const;
  void fill(const void* pattern, size_t length) const;  // from the host, over and over
  void copy_to_host(void* to, int64_t begin, int64_t bytes) const;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace coda::tools
