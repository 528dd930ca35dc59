// `coda bench --backend cuda`: every kernel of every operation beside cuBLAS's bare GEMM, all
// taking turns on one stream without a pause, in both regimes.
#pragma once
#include "coda/tools/bench.h"

namespace coda::tools {

struct CudaBenchOptions {
  std::vector<const catalogue::Operation*> operations;
  std::vector<Shape> shapes;  // M tokens; N and K of the weight
  int rounds = 20;
};

// The shapes that speed is judged at, M = 16384.
std::vector<Shape> cuda_bench_shapes();

std::vector<BenchResult> cuda_bench(const CudaBenchOptions& options,
                                    const std::function<void(int64_t, int64_t)>& progress);

BenchGpu describe_gpu();

}  // namespace coda::tools
