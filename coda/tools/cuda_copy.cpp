#include "coda/tools/cuda_copy.h"

#include "coda/core/error.h"
#include "coda/plan/cuda.h"

namespace coda::tools {
namespace {

constexpr size_t kAlignment = 256;  // kept from host addresses, and that of cudaMalloc

}  // namespace

DeviceCopy::DeviceCopy(std::span<const std::span<std::byte>> memory) {
  std::vector<size_t> offsets;
  for (const std::span<std::byte> host : memory) {
    const size_t phase = reinterpret_cast<uintptr_t>(host.data()) % kAlignment;
    offsets.push_back(size_ + phase);
    size_ = (size_ + phase + host.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  cuda::check(cudaMalloc(reinterpret_cast<void**>(&memory_), size_ + 1), "cudaMalloc");
  cuda::check(cudaMemset(memory_, 0, size_ + 1), "cudaMemset");
  for (size_t i = 0; i < memory.size(); ++i) {
    blocks_.push_back({memory[i], memory_ + offsets[i]});
    cuda::check(
        cudaMemcpy(blocks_[i].device, memory[i].data(), memory[i].size(), cudaMemcpyHostToDevice),
        "cudaMemcpy");
  }
  // Streams that do not wait for the default one must see it too.
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

DeviceCopy::~DeviceCopy() { cudaFree(memory_); }

const void* DeviceCopy::find(const void* host) const {
  if (host == nullptr) return nullptr;
  const auto* at = static_cast<const std::byte*>(host);
  for (const Block& block : blocks_) {
    const std::byte* begin = block.host.data();
    if (at >= begin && at < begin + block.host.size()) return block.device + (at - begin);
  }
  throw Error("a tensor of the call lies outside of its memory");
}

catalogue::Call DeviceCopy::call(const catalogue::Call& host) const {
  catalogue::Call result = host;
  for (OperandView* operand : {&result.a, &result.b}) {
    for (auto& parts : operand->part) {
      for (TensorView& view : parts) view.data = find(view.data);
    }
  }
  for (Argument& argument : result.arguments) {
    for (TensorView& view : argument.tensors) view.data = find(view.data);
  }
  return result;
}

void DeviceCopy::copy_back() const {
  for (const Block& block : blocks_) {
    cuda::check(
        cudaMemcpy(block.host.data(), block.device, block.host.size(), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  }
}

std::vector<std::byte> DeviceCopy::bytes() const {
  std::vector<std::byte> result(size_);
  cuda::check(cudaMemcpy(result.data(), memory_, size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return result;
}

}  // namespace coda::tools
