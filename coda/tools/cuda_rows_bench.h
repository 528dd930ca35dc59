// `coda bench --backend cuda` of operations that are no GEMM: memory bounds them, so each takes
// turns with a copy on the device that reads and writes as many bytes.
#pragma once
#include "coda/tools/cuda_bench.h"

namespace coda::tools {

// M tokens, N the width, K the vocabulary.
std::vector<Shape> cuda_rows_bench_shapes();

// Operations with operands are left out.
std::vector<BenchResult> cuda_rows_bench(const CudaBenchOptions& options,
                                         const std::function<void(int64_t, int64_t)>& progress);

}  // namespace coda::tools
