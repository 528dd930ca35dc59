#include "coda/block/device.h"

#include "coda/core/error.h"

namespace coda::block {

std::unique_ptr<Device> make_device(const std::string& name, int threads) {
  if (name == "cpu") return make_cpu_device(threads);
  if (name == "cuda") return make_cuda_device();
  if (name == "auto") {
    try {
      return make_cuda_device();
    } catch (const DeviceError&) {
      return make_cpu_device(threads);
    }
  }
  throw Error("device: expected cpu, cuda or auto, got '" + name + "'");
}

#if !defined(CODA_HAS_CUDA)
std::unique_ptr<Device> make_cuda_device() {
  throw DeviceError("cuda: this build has no GPU kernels; build it where nvcc is found");
}
#elif !defined(CODA_HAS_CUDNN)
std::unique_ptr<Device> make_cuda_device() {
  throw DeviceError(
      "cuda: this build has no attention for the GPU: cuDNN's headers were missing; run "
      "CODA_CUDNN=ON scripts/setup.sh (or pip install nvidia-cudnn-cu13 nvidia-cudnn-frontend), "
      "then build again");
}
#endif

}  // namespace coda::block
