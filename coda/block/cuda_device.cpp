// A model on a GPU: one stream, on which copies and nodes follow each other. The host waits for it
// in copy_out() and wait() only, and in copy_in() where it is far ahead.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "coda/attention/cuda_cudnn.h"
#include "coda/block/cuda_staging.h"
#include "coda/block/device.h"
#include "coda/block/head.h"
#include "coda/core/error.h"
#include "coda/plan/cuda.h"

namespace coda::block {
namespace {

using cuda::check;

constexpr int kDevice = 0;  // CUDA_VISIBLE_DEVICES says which one that is

void check_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) {
    cuda::device_facts(kDevice);
    return;
  }
  cudaGetLastError();
  throw DeviceError(fmt::format(
      "cuda: no GPU is found: {}; look whether nvidia-smi lists one, or use the device cpu",
      status == cudaSuccess ? "the driver has none" : cudaGetErrorString(status)));
}

class OwnedStream {
 public:
  OwnedStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~OwnedStream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

struct Free {
  void operator()(void* memory) const { cudaFree(memory); }
};

class CudaDevice final : public Device {
 public:
  CudaDevice() : staging_(stream_.get()), attention_(kDevice, stream_.get()) {}
  ~CudaDevice() override { cudaStreamSynchronize(stream_.get()); }  // before anything is freed

  std::string name() const override {
    return fmt::format("cuda ({})", cuda::device_facts(kDevice).name);
  }

  int64_t free_bytes() const override { return memory().free; }

  int64_t peak_bytes() const override { return std::max(peak_bytes_, memory().used); }

  void* allocate(int64_t bytes) override {
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    void* data = nullptr;
    check(cudaMalloc(&data, size), "cudaMalloc");
    memory_.emplace_back(data);
    check(cudaMemsetAsync(data, 0, size, stream_.get()), "cudaMemsetAsync");
    sample_peak();
    return data;
  }

  void copy_in(const TensorView& to, const void* from) override {
    staging_.copy_in(const_cast<void*>(to.data), from, size_of(to));
  }

  void copy_out(void* to, const TensorView& from) override {
    check(cudaMemcpyAsync(to, from.data, size_of(from), cudaMemcpyDeviceToHost, stream_.get()),
          "cudaMemcpyAsync");
    wait();
  }

  void wait() override {
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    sample_peak();
  }

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

  struct Memory {
    int64_t free = 0, used = 0;  // used: by other processes too
  };
  static Memory memory() {
    const cuda::CurrentDevice current(kDevice);
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {static_cast<int64_t>(free), static_cast<int64_t>(total - free)};
  }
  void sample_peak() { peak_bytes_ = std::max(peak_bytes_, memory().used); }

  static size_t size_of(const TensorView& view) {
    return static_cast<size_t>(view.rows * view.columns * view.element_bytes);
  }

  cuda::Target target() const { return {.device = kDevice, .stream = stream_.get()}; }

  static void check_kernels(const CallNode& node) {
    if (node.variant->run_cuda != nullptr) return;
    throw DeviceError(
        fmt::format("{}: variant '{}' has no kernels for the GPU; models on it are bf16",
                    node.operation->name, node.variant->name));
  }

  int64_t bytes_for(const CallNode& node) const {
    check_kernels(node);
    return node.variant->cuda_workspace_bytes(node.call, target());
  }
  int64_t bytes_for(const attention::Shape& shape, DType type) const {
    return attention_.workspace_bytes(shape, type);
  }
  int64_t bytes_for(const AttentionNode& node) const {
    return bytes_for(node.shape, node.tensors.q.dtype);
  }
  int64_t bytes_for(const AttentionBackwardNode& node) const {
    return bytes_for(node.shape, node.tensors.q.dtype);
  }
  static int64_t bytes_for(const HeadNode& node) {
    if (node.x.dtype != DType::kBf16) {
      throw DeviceError(
          fmt::format("head: expected bf16 on the GPU, got {}; use bf16 or the "
                      "device cpu",
                      dtype_name(node.x.dtype)));
    }
    return head_workspace_bytes(node);
  }

  void run_work(const CallNode& node, const Workspace& workspace) const {
    check_kernels(node);
    cuda::Target where = target();
    where.workspace = workspace.data;
    where.workspace_bytes = workspace.bytes;
    node.variant->run_cuda(node.call, where);
  }
  void run_work(const AttentionNode& node, const Workspace& workspace) {
    attention_.forward(node.shape, node.tensors, workspace.data);
  }
  void run_work(const AttentionBackwardNode& node, const Workspace& workspace) {
    attention_.backward(node.shape, node.tensors, workspace.data);
  }
  // The workspace is the head's own; contractions inside of it stay whole.
  void run_work(const HeadNode& node, const Workspace& workspace) const {
    const cuda::Target where = target();
    run_head(catalogue::OnCuda{where}, node, workspace);
  }

  OwnedStream stream_;
  Staging staging_;
  attention::CudnnAttention attention_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  int64_t peak_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device() {
  check_gpu();
  return std::make_unique<CudaDevice>();
}

}  // namespace coda::block
