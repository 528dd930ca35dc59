// cuBLAS, what GPU benchmarks compare with: the bare GEMM c = a·bᵀ, by the first eight algorithms
// that cuBLASLt proposes and by what cublasGemmEx takes. Loaded at run time.
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

struct CublasGemms {
  std::vector<std::function<void()>> fastest;
  std::function<void()> usual;  // the first proposal where cublasGemmEx is missing
};

class Cublas {
 public:
  Cublas();  // throws coda::Error where cuBLASLt is missing
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // The fastest candidates in a first measurement, and what cublasGemmEx, and with it torch.mm,
  // takes.
  CublasGemms gemms(const GemmRequest& request, cudaStream_t stream);

 private:
  struct Functions;
  struct Plan;

  std::vector<std::function<void()>> candidates(const GemmRequest& request, cudaStream_t stream);

  std::unique_ptr<Functions> functions_;
  void *lt_ = nullptr, *blas_ = nullptr, *workspace_ = nullptr;
};

}  // namespace coda::tools
