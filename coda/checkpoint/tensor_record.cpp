#include "coda/checkpoint/tensor_record.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "coda/checkpoint/named_shape.h"
#include "coda/checkpoint/tensor_type.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

template <class To>
void copy_as(const TensorRecord& tensor, std::span<To> to) {
  const auto expected = static_cast<int64_t>(to.size());
  const int64_t count = tensor.bytes / dtype_bytes(tensor.dtype);
  if (count != expected) {
    fail_argument("copy_elements", "to", fmt::format("{} elements of '{}'", count, tensor.name),
                  std::to_string(expected));
  }
  const auto convert = [&]<class From>(From element) {
    const char* from = static_cast<const char*>(tensor.data);
    for (To& value : to) {  // the file's elements may lie at any byte
      std::memcpy(&element, from, sizeof element);
      value = from_float<To>(to_float(element));
      from += sizeof element;
    }
  };
  if (tensor.dtype == dtype_of<To>) {
    if (count > 0) std::memcpy(to.data(), tensor.data, static_cast<size_t>(tensor.bytes));
  } else if (tensor.dtype == DType::kBf16) {
    convert(bf16{});
  } else if (tensor.dtype == DType::kFp16) {
    convert(fp16{});
  } else if (tensor.dtype == DType::kFp32) {
    convert(float{});
  } else {
    fail_argument("copy_elements", tensor.name, "BF16, F16 or F32", dtype_name(tensor.dtype));
  }
}

}  // namespace

TensorRecord tensor_record(std::string name, DType dtype, std::vector<int64_t> shape,
                           const void* data) {
  name_of(dtype);  // refuses what files of ours do not have
  int64_t bytes = dtype_bytes(dtype);
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) {
      fail_argument("tensor_record", name, "a shape that fits in memory", shape_text(shape));
    }
  }
  return {std::move(name), dtype, std::move(shape), data, bytes};
}

void copy_elements(const TensorRecord& tensor, std::span<float> to) { copy_as(tensor, to); }
void copy_elements(const TensorRecord& tensor, std::span<bf16> to) { copy_as(tensor, to); }

}  // namespace coda::checkpoint
