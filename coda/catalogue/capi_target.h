// Where a call of the C interface goes on the GPU.
#pragma once
#if defined(CODA_HAS_CUDA)
#include "coda/coda.h"
#include "coda/plan/cuda.h"

namespace coda::catalogue {

inline cuda::Target target_of(const coda_options& options) {
  return {.device = options.gpu,
          .stream = static_cast<cudaStream_t>(options.stream),
          .workspace = options.workspace,
          .workspace_bytes = options.workspace_bytes};
}

}  // namespace coda::catalogue
#endif
