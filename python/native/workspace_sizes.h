// What coda_workspace_bytes() said about calls before: it depends on the operation, the tensors'
// shapes, the numbers and the GPU, and a layer makes the same calls over and over.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "coda/coda.h"

namespace native {

// The bytes of values, one after the other.
class Key {
 public:
  Key() { bytes_.reserve(1024); }  // most calls' need
  template <class... Values>
  void add(const Values&... values) {
    (bytes_.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  }
  void add_shape(const coda_tensor& tensor) {
    add(tensor.dtype, tensor.rows, tensor.columns, tensor.ld, tensor.column_major);
  }
  void add_text(const char* text) { bytes_.append(text).push_back('\0'); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Used with Python's lock held.
class WorkspaceSizes {
 public:
  // -1: not asked for yet.
  int64_t find(const Key& key) const {
    const auto found = sizes_.find(key.bytes());
    return found == sizes_.end() ? -1 : found->second;
  }
  void add(const Key& key, int64_t bytes) {
    if (sizes_.size() >= kMost) sizes_.clear();  // of sequences of many lengths
    sizes_[key.bytes()] = bytes;
  }

 private:
  static constexpr size_t kMost = 4096;
  std::unordered_map<std::string, int64_t> sizes_;
};

}  // namespace native
