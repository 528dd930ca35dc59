#include "coda/tools/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace coda::tools {

std::string cuda_device_name() {
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, 0);
  if (status != cudaSuccess) return fmt::format("none: {}", cudaGetErrorString(status));
  int driver = 0;
  cudaDriverGetVersion(&driver);
  return fmt::format("{}, {} multiprocessors, driver for CUDA {}.{}", properties.name,
                     properties.multiProcessorCount, driver / 1000, driver % 1000 / 10);
}

}  // namespace coda::tools
