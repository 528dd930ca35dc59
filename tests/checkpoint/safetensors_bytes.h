// A safetensors file's bytes from a header written by hand.
#pragma once
#include <cstdint>
#include <string>

namespace coda::checkpoint {

inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string length;
  for (int i = 0; i < 8; ++i) {
    length += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xff);
  }
  return length + header + data;
}

}  // namespace coda::checkpoint
