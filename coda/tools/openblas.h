// OpenBLAS as the baseline of fp32 GEMMs, where the build found it.
#pragma once
#include <cstdint>
#include <string>

namespace coda::tools {

bool has_openblas();
std::string openblas_name();  // "0.3.21, kernels for Zen"

// c = a bᵀ with a [M, K], b [N, K], c [M, N], all row-major.
void openblas_gemm(int64_t M, int64_t N, int64_t K, const float* a, const float* b, float* c,
                   int threads);

}  // namespace coda::tools
