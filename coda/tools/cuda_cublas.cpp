#include "coda/tools/cuda_cublas.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"
#include "coda/tools/cuda_library.h"

namespace coda::tools {
namespace {

// Of cublas_api.h, cublasLt.h and library_types.h.
constexpr int kReal32 = 0, kRealBf16 = 14, kCompute32 = 68, kPlain = 0, kTransposed = 1;
constexpr int kTransposeA = 3, kTransposeB = 4, kMaxWorkspace = 1, kDefaultAlgorithm = -1;
constexpr int kProposals = 8, kTrials = 5;
constexpr size_t kLeaders = 2;  // the race decides between them
constexpr size_t kWorkspaceBytes = size_t{64} << 20;

struct Algorithm {
  uint64_t data[8];
};
struct Proposal {
  Algorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

void require(int status, const char* call) {
  if (status != 0) throw Error(fmt::format("{}: status {}", call, status));
}

}  // namespace

struct Cublas::Functions {
  CudaLibrary lt{"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"};
  CudaLibrary blas{"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"};

  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*create_operation)(void**, int compute, int scale) = nullptr;
  int (*destroy_operation)(void*) = nullptr;
  int (*set_operation)(void*, int attribute, const void*, size_t) = nullptr;
  int (*create_layout)(void**, int type, uint64_t rows, uint64_t columns, int64_t ld) = nullptr;
  int (*destroy_layout)(void*) = nullptr;
  int (*create_preference)(void**) = nullptr;
  int (*destroy_preference)(void*) = nullptr;
  int (*set_preference)(void*, int attribute, const void*, size_t) = nullptr;
  int (*propose)(void*, void* operation, void* a, void* b, void* c, void* d, void* preference,
                 int wanted, Proposal*, int* got) = nullptr;
  int (*multiply)(void*, void* operation, const void* alpha, const void* a, void* layout_a,
                  const void* b, void* layout_b, const void* beta, const void* c, void* layout_c,
                  void* d, void* layout_d, const Algorithm*, void* workspace, size_t,
                  cudaStream_t) = nullptr;
  int (*create_blas)(void**) = nullptr;
  int (*destroy_blas)(void*) = nullptr;
  int (*set_stream)(void*, cudaStream_t) = nullptr;
  int (*gemm)(void*, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
              int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
              int type_c, int ldc, int compute, int algorithm) = nullptr;

  bool load() {
    return lt.find("cublasLtCreate", create) && lt.find("cublasLtDestroy", destroy) &&
           lt.find("cublasLtMatmulDescCreate", create_operation) &&
           lt.find("cublasLtMatmulDescDestroy", destroy_operation) &&
           lt.find("cublasLtMatmulDescSetAttribute", set_operation) &&
           lt.find("cublasLtMatrixLayoutCreate", create_layout) &&
           lt.find("cublasLtMatrixLayoutDestroy", destroy_layout) &&
           lt.find("cublasLtMatmulPreferenceCreate", create_preference) &&
           lt.find("cublasLtMatmulPreferenceDestroy", destroy_preference) &&
           lt.find("cublasLtMatmulPreferenceSetAttribute", set_preference) &&
           lt.find("cublasLtMatmulAlgoGetHeuristic", propose) &&
           lt.find("cublasLtMatmul", multiply);
  }
  bool load_blas() {
    return blas.find("cublasCreate_v2", create_blas) && blas.find("cublasGemmEx", gemm) &&
           blas.find("cublasDestroy_v2", destroy_blas) &&
           blas.find("cublasSetStream_v2", set_stream);
  }
};

// cuBLAS is column-major: cᵀ [N, M] = b·aᵀ, so b comes first.
struct Cublas::Plan {
  const Functions& f;
  void *operation = nullptr, *first = nullptr, *second = nullptr, *result = nullptr;
  std::vector<Algorithm> algorithms;

  Plan(const Functions& functions, void* lt, const GemmRequest& r) : f(functions) {
    const int op_first = r.b_rows ? kPlain : kTransposed,
              op_second = r.a_rows ? kTransposed : kPlain;
    require(f.create_operation(&operation, kCompute32, kReal32), "cublasLtMatmulDescCreate");
    f.set_operation(operation, kTransposeA, &op_first, sizeof(op_first));
    f.set_operation(operation, kTransposeB, &op_second, sizeof(op_second));
    const auto layout = [&](void*& to, int type, int64_t rows, int64_t columns) {
      require(f.create_layout(&to, type, static_cast<uint64_t>(rows),
                              static_cast<uint64_t>(columns), rows),
              "cublasLtMatrixLayoutCreate");
    };
    layout(first, kRealBf16, r.b_rows ? r.N : r.K, r.b_rows ? r.K : r.N);
    layout(second, kRealBf16, r.a_rows ? r.M : r.K, r.a_rows ? r.K : r.M);
    layout(result, r.out == DType::kFp32 ? kReal32 : kRealBf16, r.N, r.M);
    void* preference = nullptr;
    require(f.create_preference(&preference), "cublasLtMatmulPreferenceCreate");
    f.set_preference(preference, kMaxWorkspace, &kWorkspaceBytes, sizeof(kWorkspaceBytes));
    Proposal proposals[kProposals] = {};
    int count = 0;
    const int status = f.propose(lt, operation, first, second, result, result, preference,
                                 kProposals, proposals, &count);
    f.destroy_preference(preference);
    require(status, "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < count; ++i) {
      if (proposals[i].status == 0) algorithms.push_back(proposals[i].algorithm);
    }
  }
  ~Plan() {
    for (void* layout : {first, second, result}) f.destroy_layout(layout);
    f.destroy_operation(operation);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
};

Cublas::Cublas() : functions_(std::make_unique<Functions>()) {
  if (!functions_->load()) {
    throw Error(
        "cuBLASLt was not found (libcublasLt.so.13 or .12): add its folder to "
        "LD_LIBRARY_PATH");
  }
  require(functions_->create(&lt_), "cublasLtCreate");
  if (functions_->load_blas()) require(functions_->create_blas(&blas_), "cublasCreate");
  cuda::check(cudaMalloc(&workspace_, kWorkspaceBytes), "cudaMalloc");
}

Cublas::~Cublas() {
  cudaFree(workspace_);
  if (blas_ != nullptr) functions_->destroy_blas(blas_);
  functions_->destroy(lt_);
}

std::vector<std::function<void()>> Cublas::candidates(const GemmRequest& r, cudaStream_t stream) {
  static constexpr float kOne = 1, kZero = 0;
  std::vector<std::function<void()>> result;
  const auto plan = std::make_shared<Plan>(*functions_, lt_, r);
  for (const Algorithm& algorithm : plan->algorithms) {
    result.push_back([this, plan, algorithm, r, stream] {
      require(functions_->multiply(lt_, plan->operation, &kOne, r.b, plan->first, r.a, plan->second,
                                   &kZero, r.c, plan->result, r.c, plan->result, &algorithm,
                                   workspace_, kWorkspaceBytes, stream),
              "cublasLtMatmul");
    });
  }
  if (blas_ != nullptr) {
    result.push_back([this, r, stream] {
      const auto narrow = [](int64_t value) { return static_cast<int>(value); };
      require(functions_->set_stream(blas_, stream), "cublasSetStream");
      require(functions_->gemm(blas_, r.b_rows ? kPlain : kTransposed,
                               r.a_rows ? kTransposed : kPlain, narrow(r.N), narrow(r.M),
                               narrow(r.K), &kOne, r.b, kRealBf16, narrow(r.b_rows ? r.N : r.K),
                               r.a, kRealBf16, narrow(r.a_rows ? r.M : r.K), &kZero, r.c,
                               r.out == DType::kFp32 ? kReal32 : kRealBf16, narrow(r.N), kCompute32,
                               kDefaultAlgorithm),
              "cublasGemmEx");
    });
  }
  if (result.empty()) throw Error("cuBLASLt proposes no algorithm for this GEMM");
  return result;
}

CublasGemms Cublas::gemms(const GemmRequest& request, cudaStream_t stream) {
  const auto all = candidates(request, stream);
  std::vector<float> best(all.size(), 1e30f);
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda::check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda::check(cudaEventCreate(&end), "cudaEventCreate");
  for (int trial = 0; trial < kTrials; ++trial) {
    for (size_t i = 0; i < all.size(); ++i) {
      cudaEventRecord(begin, stream);
      all[i]();
      cudaEventRecord(end, stream);
      cuda::check(cudaEventSynchronize(end), "cudaEventSynchronize");
      float ms = 0;
      cudaEventElapsedTime(&ms, begin, end);
      if (trial > 0) best[i] = std::min(best[i], ms);
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return best[i]; });
  CublasGemms result{{}, blas_ != nullptr ? all.back() : all.front()};
  for (size_t i = 0; i < std::min(kLeaders, order.size()); ++i) {
    result.fastest.push_back(all[order[i]]);
  }
  return result;
}

}  // namespace coda::tools
