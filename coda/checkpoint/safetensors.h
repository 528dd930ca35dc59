// Safetensors files: 8 bytes with the length of a JSON header, the header, the tensors' bytes without
// gaps. Reading maps the file and checks all of the header first; writing streams the tensors.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coda/checkpoint/named_shape.h"
#include "coda/core/types.h"

namespace coda::checkpoint {

struct TensorRecord {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
  const void* data =
      nullptr;        // of a file: in its mapping, and not aligned in files of some writers
  int64_t bytes = 0;  // the product of shape times the size of an element
};

// A tensor in memory, to be written.
TensorRecord tensor_record(std::string name, DType dtype, std::vector<int64_t> shape,
                           const void* data);

// The elements as another type, rounded to nearest even; `to` has as many. For bf16, fp16 and fp32.
void copy_elements(const TensorRecord& tensor, std::span<float> to);
void copy_elements(const TensorRecord& tensor, std::span<bf16> to);

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
  bool contains(const std::string& name) const { return entries_.contains(name); }

  // Throws where there is no such tensor, or where its elements are something else than bf16, fp16,
  // fp32, int32 or int64. The record is good as long as the file object lives.
  TensorRecord tensor(const std::string& name) const;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Entry {
    std::string dtype;  // as the header calls it
    std::vector<int64_t> shape;
    int64_t begin, end;  // bytes from the start of the data
  };
  [[noreturn]] void fail(const std::string& reason) const;
  int64_t header_bytes() const;
  void read_header(std::string_view header, int64_t data_bytes);
  void check_layout(int64_t data_bytes) const;

  std::string path_;
  const char* mapping_ = nullptr;
  int64_t size_ = 0;            // of the file
  const char* data_ = nullptr;  // of the first tensor
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// What `safetensors` would have written, byte for byte. Goes to `path` itself, not atomically: see
// write_folder_atomically. Where `copy(to, from, bytes)` is given, every `data` is handed to it
// instead of being read, piece by piece: for tensors in a GPU's memory.
using CopyBytes = std::function<void(void* to, const void* from, int64_t bytes)>;
void write_safetensors(const std::string& path, std::span<const TensorRecord> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
                       const CopyBytes& copy = {});

}  // namespace coda::checkpoint
