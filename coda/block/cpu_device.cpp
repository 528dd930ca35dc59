// A model on the CPU.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "coda/attention/cpu.h"
#include "coda/block/available_memory.h"
#include "coda/block/device.h"
#include "coda/block/head.h"
#include "coda/core/error.h"
#include "coda/cpu/threads.h"

namespace coda::block {
namespace {

constexpr size_t kAlignment = 256;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : options_{threads}, attention_(options_) {}

  std::string name() const override { return "cpu"; }

  int64_t free_bytes() const override { return available_memory(); }

  int64_t peak_bytes() const override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;
  }

  void* allocate(int64_t bytes) override {
    const size_t size = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, std::max(size, kAlignment));
    if (memory == nullptr) throw std::bad_alloc();
    memory_.emplace_back(memory);
    std::memset(memory, 0, size);
    return memory;
  }

  void copy_in(const TensorView& to, const void* from) override {
    std::memcpy(const_cast<void*>(to.data), from, size_of(to));
  }
  void copy_out(void* to, const TensorView& from) override {
    std::memcpy(to, from.data, size_of(from));
  }
  void wait() override {}

  int64_t workspace_bytes(const Node& node) const override {
    return std::visit([&](const auto& work) { return bytes_for(work); }, node.work);
  }
  void run(const Node& node) override {
    const Workspace workspace = {const_cast<void*>(node.workspace.data),
                                 node.workspace.columns * node.workspace.element_bytes};
    std::visit([&](const auto& work) { run_work(work, workspace); }, node.work);
  }

 private:
  using Workspace = catalogue::CrossEntropyWorkspace;

  static size_t size_of(const TensorView& view) {
    return static_cast<size_t>(view.rows * view.columns * view.element_bytes);
  }

  static int64_t bytes_for(const CallNode&) { return 0; }
  int64_t bytes_for(const AttentionNode& node) const {
    return attention_.workspace_bytes(node.shape, node.tensors.q.dtype);
  }
  int64_t bytes_for(const AttentionBackwardNode& node) const {
    return attention_.workspace_bytes(node.shape, node.tensors.q.dtype);
  }
  static int64_t bytes_for(const HeadNode& node) { return head_workspace_bytes(node); }

  void run_work(const CallNode& node, const Workspace&) const {
    node.variant->run_cpu(node.call, options_);
  }
  void run_work(const AttentionNode& node, const Workspace& workspace) {
    attention_.forward(node.shape, node.tensors, workspace.data);
  }
  void run_work(const AttentionBackwardNode& node, const Workspace& workspace) {
    attention_.backward(node.shape, node.tensors, workspace.data);
  }
  void run_work(const HeadNode& node, const Workspace& workspace) const {
    run_head({options_}, node, workspace);
  }

  cpu::Options options_;
  attention::CpuAttention attention_;
  std::vector<std::unique_ptr<void, Free>> memory_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads) {
  cpu::thread_count("cpu", threads);
  return std::make_unique<CpuDevice>(threads);
}

}  // namespace coda::block
