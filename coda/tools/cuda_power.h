// Clock and power of the GPU while something runs, from NVML where there is one.
#pragma once
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace coda::tools {

struct PowerReading {
  std::optional<double> clock_mhz, power_w;  // means over the samples
};

class PowerMeter {
 public:
  PowerMeter();  // begins to sample device 0
  ~PowerMeter();
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;

  PowerReading stop();

 private:
  void sample();

  std::atomic<bool> running_{true};
  std::vector<double> clocks_, powers_;
  std::thread thread_;
};

}  // namespace coda::tools
