#include "coda/tools/cuda_power.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <numeric>

#include "coda/tools/cuda_library.h"

namespace coda::tools {
namespace {

constexpr unsigned kClockOfMultiprocessors = 1;
constexpr auto kPause = std::chrono::milliseconds(20);

struct Nvml {
  CudaLibrary library{"libnvidia-ml.so.1"};
  int (*init)() = nullptr;
  int (*device_by_bus)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned type, unsigned* mhz) = nullptr;
  int (*power)(void*, unsigned* milliwatts) = nullptr;
  void* device = nullptr;

  Nvml() {  // CUDA and NVML may number devices differently; their bus is the same
    char bus[32] = {};
    const bool found = library.find("nvmlInit_v2", init) &&
                       library.find("nvmlDeviceGetHandleByPciBusId_v2", device_by_bus) &&
                       library.find("nvmlDeviceGetClockInfo", clock) &&
                       library.find("nvmlDeviceGetPowerUsage", power);
    if (!found || init() != 0 || cudaDeviceGetPCIBusId(bus, sizeof(bus), 0) != cudaSuccess) return;
    if (device_by_bus(bus, &device) != 0) device = nullptr;
  }
};

const Nvml& nvml() {
  static const Nvml instance;
  return instance;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return {};
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

PowerMeter::PowerMeter() {
  if (nvml().device != nullptr) thread_ = std::thread([this] { sample(); });
}

PowerMeter::~PowerMeter() { stop(); }

void PowerMeter::sample() {
  while (running_) {
    unsigned mhz = 0, milliwatts = 0;
    if (nvml().clock(nvml().device, kClockOfMultiprocessors, &mhz) == 0) clocks_.push_back(mhz);
    if (nvml().power(nvml().device, &milliwatts) == 0) powers_.push_back(milliwatts * 1e-3);
    std::this_thread::sleep_for(kPause);
  }
}

PowerReading PowerMeter::stop() {
  running_ = false;
  if (thread_.joinable()) thread_.join();
  return {mean(clocks_), mean(powers_)};
}

}  // namespace coda::tools
