// The instructions under the kernel: the GPU's, or the simulator's. Kernel code is compiled once
// for each; the inline namespace keeps the two apart in one program.
#pragma once
#include "coda/core/std.h"

#if defined(CODA_SIM)
#include "coda/sim/hardware.h"
#define CODA_TARGET on_simulator
namespace coda {
namespace hw = sim;
}
#elif defined(CODA_LAUNCH)  // the host's side of a launch, where no CUDA is installed
#define CODA_TARGET on_gpu
namespace coda {
namespace ptx {
struct alignas(64) TensorMap {  // a CUtensorMap
  uint64_t opaque[16];
};
}  // namespace ptx
namespace hw = ptx;
}  // namespace coda
#else
#include "coda/ptx/global.cuh"
#include "coda/ptx/number.cuh"
#include "coda/ptx/shared.cuh"
#include "coda/ptx/thread.cuh"
#include "coda/ptx/tma.cuh"
#include "coda/ptx/wgmma.cuh"
#define CODA_TARGET on_gpu
namespace coda {
namespace hw = ptx;
}
#endif
