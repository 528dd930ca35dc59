// cuBLAS, what GPU benchmarks compare with: the bare GEMM c = a·bᵀ, by the fastest of the first
// eight algorithms that cuBLASLt proposes and of what cublasGemmEx takes. Loaded at run time.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coda/core/types.h"

namespace coda::tools {

// c [M, N] row-major; a [M, K] and b [N, K], or stored the other way round.
struct GemmRequest {
  int64_t M = 0, N = 0, K = 0;
  const void *a = nullptr, *b = nullptr;
  bool a_rows = false, b_rows = false;  // rows contiguous: stored [K, M], [K, N]
  void* c = nullptr;
  DType out = DType::kBf16;  // operands are bf16
};

class Cublas {
 public:
  Cublas();  // throws coda::Error where cuBLASLt is missing
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // Measures the candidates, and gives the fastest.
  std::function<void()> fastest(const GemmRequest& request, cudaStream_t stream);

 private:
  struct Functions;
  struct Plan;

  std::vector<std::function<void()>> candidates(const GemmRequest& request, cudaStream_t stream);

  std::unique_ptr<Functions> functions_;
  void *lt_ = nullptr, *blas_ = nullptr, *workspace_ = nullptr;
};

}  // namespace coda::tools
