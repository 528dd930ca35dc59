// The CPU, watched: what a test overrides it sees first.
#pragma once
#include "coda/block/device.h"

namespace coda::block {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(int threads = 1) : cpu_(make_cpu_device(threads)) {}

  std::string name() const override { return cpu_->name(); }
  int64_t free_bytes() const override { return cpu_->free_bytes(); }
  int64_t peak_bytes() const override { return cpu_->peak_bytes(); }
  void* allocate(int64_t bytes) override { return cpu_->allocate(bytes); }
  void copy_in(const TensorView& to, const void* from) override { cpu_->copy_in(to, from); }
  void copy_out(void* to, const TensorView& from) override { cpu_->copy_out(to, from); }
  void wait() override { cpu_->wait(); }
  int64_t workspace_bytes(const Node& node) const override { return cpu_->workspace_bytes(node); }
  void run(const Node& node) override { cpu_->run(node); }

 private:
  std::unique_ptr<Device> cpu_;
};

}  // namespace coda::block
