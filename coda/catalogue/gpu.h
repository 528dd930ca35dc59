// Programs of the catalogue on the GPU, in builds that have it.
#pragma once
#include "coda/catalogue/operation.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#endif

namespace coda::catalogue {

// For a program that x.cu instantiates.
template <class P>
GpuProgram on_gpu() {
#if defined(CODA_HAS_CUDA)
  return {[](const Call& call, const cuda::Target& target) {
            cuda::run(coda::bind<P>(call.arguments), call.a, call.b, target);
          },
          &cuda::kernels_of<P>,
          [](const Call& call, const cuda::Target& target) {
            return cuda::workspace_bytes(coda::bind<P>(call.arguments), call.a, call.b, target);
          }};
#else
  return {};
#endif
}

}  // namespace coda::catalogue
