#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/safetensors.h"
#include "coda/checkpoint/tensor_type.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(fmt::format("cannot write '{}': {}", path, reason));
}

using Order = std::vector<const TensorRecord*>;

Order file_order_of(std::span<const TensorRecord> tensors) {
  Order order;
  for (const TensorRecord& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const TensorRecord* tensor) {
    return std::tuple(file_order(tensor->dtype), std::string_view(tensor->name));
  });
  return order;
}

void check_tensors(const std::string& path, const Order& order) {
  std::set<std::string_view> names;
  for (const TensorRecord* tensor : order) {
    const TensorRecord expected =
        tensor_record(tensor->name, tensor->dtype, tensor->shape, tensor->data);
    if (tensor->bytes != expected.bytes) {
      fail(path, fmt::format("tensor '{}': {} of {} takes {} bytes, got {}", tensor->name,
                             shape_text(tensor->shape), name_of(tensor->dtype), expected.bytes,
                             tensor->bytes));
    }
    if (tensor->data == nullptr && tensor->bytes > 0) {
      fail(path, fmt::format("tensor '{}' has no data", tensor->name));
    }
    if (tensor->name == "__metadata__" || !names.insert(tensor->name).second) {
      fail(path, fmt::format("tensor '{}': the name is taken", tensor->name));
    }
  }
}

std::string header_text(const std::string& path, const Order& order,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorRecord* tensor : order) {
    header[tensor->name] = {{"dtype", name_of(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + tensor->bytes}}};
    offset += tensor->bytes;
  }
  try {
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const nlohmann::json::exception&) {
    fail(path, "a tensor's name or the metadata is not UTF-8");
  }
}

void write_length(FileOutput& output, uint64_t length) {  // little-endian
  char bytes[8];
  for (char& byte : bytes) {
    byte = static_cast<char>(length & 0xff);
    length >>= 8;
  }
  output.write(bytes, sizeof bytes);
}

void write_through(FileOutput& output, const TensorRecord& tensor, const CopyBytes& copy,
                   std::vector<char>& buffer) {
  const char* from = static_cast<const char*>(tensor.data);
  for (int64_t done = 0; done < tensor.bytes;) {
    const int64_t piece = std::min(tensor.bytes - done, static_cast<int64_t>(buffer.size()));
    copy(buffer.data(), from + done, piece);
    output.write(buffer.data(), piece);
    done += piece;
  }
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const TensorRecord> tensors,
                       const std::map<std::string, std::string>& metadata, const CopyBytes& copy) {
  const Order order = file_order_of(tensors);
  check_tensors(path, order);
  const std::string header = header_text(path, order, metadata);
  FileOutput output(path);
  write_length(output, header.size());
  output.write(header);
  std::vector<char> buffer(copy ? size_t{16} << 20 : 0);
  for (const TensorRecord* tensor : order) {
    if (copy) {
      write_through(output, *tensor, copy, buffer);
    } else {
      output.write(tensor->data, tensor->bytes);
    }
  }
  output.finish();
}

}  // namespace coda::checkpoint
