// Host memory copied to a GPU byte by byte, with the same alignment, and calls that then name the
// copy.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

class DeviceCopy {
 public:
  explicit DeviceCopy(std::span<const std::span<std::byte>> memory);  // copied at once
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  catalogue::Call call(const catalogue::Call& host) const;

  void copy_back() const;  // to where it came from
  std::vector<std::byte> bytes() const;

 private:
  struct Block {
    std::span<std::byte> host;
    std::byte* device;
  };

  const void* find(const void* host) const;

  std::vector<Block> blocks_;
  std::byte* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace coda::tools
