// Where a model lives and runs.
#pragma once
#include <memory>
#include <string>

#include "coda/block/node.h"

namespace coda::block {

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string name() const = 0;
  virtual int64_t free_bytes() const = 0;  // that allocate() may give
  // The most that was in use so far: of the CPU by this process, of a GPU by all.
  virtual int64_t peak_bytes() const = 0;
  // Filled with zeros, aligned to 256 bytes, until the device goes.
  virtual void* allocate(int64_t bytes) = 0;

  // In order with the nodes that run; copy_out() waits for them.
  virtual void copy_in(const TensorView& to, const void* from) = 0;
  virtual void copy_out(void* to, const TensorView& from) = 0;
  virtual void wait() = 0;

  virtual int64_t workspace_bytes(const Node& node) const = 0;  // that run() takes
  virtual void run(const Node& node) = 0;
};

std::unique_ptr<Device> make_cpu_device(int threads = 0);
// Throws coda::DeviceError where there is none, or where this build lacks what it takes.
std::unique_ptr<Device> make_cuda_device();
// "cpu", "cuda"; "auto": a GPU where this build and this machine have what it takes, else the CPU.
std::unique_ptr<Device> make_device(const std::string& name, int threads = 0);

}  // namespace coda::block
