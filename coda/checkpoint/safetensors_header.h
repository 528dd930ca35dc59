// The JSON header of a safetensors file: its tensors' types, shapes and places.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coda::checkpoint {

struct TensorEntry {
  std::string dtype;  // as the header calls it
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// Throws coda::Error beginning with `where` unless every tensor has a known type, a shape that
// agrees with its bytes, and they cover the file's `data_bytes` without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                           const std::string& where);

}  // namespace coda::checkpoint
