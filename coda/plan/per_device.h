// A value for each device, made when it is first asked for, from any thread. Unlike std::call_once
// it may throw on the way everywhere, also in programs that bring libstdc++ along.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "coda/core/error.h"

namespace coda::cuda {

inline constexpr int kMaxDevices = 64;

template <class T>
class PerDevice {
 public:
  template <class Make>
  const T& get(int device, Make&& make) {
    if (device < 0 || device >= kMaxDevices) {
      throw Error("expected a device from 0 to " + std::to_string(kMaxDevices - 1) + ", got " +
                  std::to_string(device));
    }
    if (!made_[device].load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      if (!made_[device].load(std::memory_order_relaxed)) {
        value_[device] = make();
        made_[device].store(true, std::memory_order_release);
      }
    }
    return value_[device];
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> made_[kMaxDevices] = {};
  T value_[kMaxDevices] = {};
};

}  // namespace coda::cuda
