// Safetensors files: 8 bytes with the length of a JSON header, the header, the tensors' bytes
// without gaps. Reading maps the file and checks all of the header first; writing streams the
// tensors.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "coda/checkpoint/named_shape.h"
#include "coda/checkpoint/safetensors_header.h"
#include "coda/checkpoint/tensor_record.h"

namespace coda::checkpoint {

class SafetensorsFile {
 public:
  // Throws coda::Error with file and reason for anything but a whole, well-formed file.
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  std::vector<NamedShape> shapes() const;  // of all tensors, by name
  bool contains(const std::string& name) const { return header_.tensors.contains(name); }

  // Throws where there is no such tensor, or where its elements are something else than bf16, fp16,
  // fp32, int32 or int64. The record is good as long as the file object lives and nobody shortens
  // the file (who replaces it by renaming does not).
  TensorRecord tensor(const std::string& name) const;

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

 private:
  [[noreturn]] void fail(const std::string& reason) const;
  void read();
  int64_t header_bytes() const;

  std::string path_;
  const char* mapping_ = nullptr;
  int64_t size_ = 0;            // of the file
  const char* data_ = nullptr;  // of the first tensor
  SafetensorsHeader header_;
};

// What `safetensors` would have written, byte for byte. Goes to `path` itself, not atomically: see
// write_folder_atomically. Where `copy(to, from, bytes)` is given, every `data` is handed to it
// instead of being read, piece by piece: for tensors in a GPU's memory.
using CopyBytes = std::function<void(void* to, const void* from, int64_t bytes)>;
void write_safetensors(const std::string& path, std::span<const TensorRecord> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
                       const CopyBytes& copy = {});

}  // namespace coda::checkpoint
