// Launches the row kernels of cross-entropy: programmatic dependent launch, so that their blocks
// are there when the GEMM before them is done.
#pragma once
#include <limits>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"

namespace coda::row {

template <class Arguments>
void launch_rows(void (*kernel)(Arguments), int64_t blocks, int threads, cudaStream_t stream,
                 const Arguments& arguments) {
  if (blocks == 0) return;
  if (blocks > std::numeric_limits<int32_t>::max()) {
    throw Error("linear_cross_entropy: more rows than one launch takes");
  }
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cuda::check(cudaLaunchKernelEx(&config, kernel, arguments), "cudaLaunchKernelEx");
}

}  // namespace coda::row
