#include "coda/checkpoint/tensor_type.h"

#include <array>

#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

struct Named {
  std::string_view name;
  int64_t bits;
};
constexpr std::array kTypes = {
    Named{"BOOL", 8},    Named{"F4", 4},          Named{"F6_E2M3", 6},     Named{"F6_E3M2", 6},
    Named{"U8", 8},      Named{"I8", 8},          Named{"F8_E5M2", 8},     Named{"F8_E4M3", 8},
    Named{"F8_E8M0", 8}, Named{"F8_E4M3FNUZ", 8}, Named{"F8_E5M2FNUZ", 8}, Named{"I16", 16},
    Named{"U16", 16},    Named{"F16", 16},        Named{"BF16", 16},       Named{"I32", 32},
    Named{"U32", 32},    Named{"F32", 32},        Named{"C64", 64},        Named{"F64", 64},
    Named{"I64", 64},    Named{"U64", 64}};

struct Readable {
  DType type;
  std::string_view name;
};
constexpr std::array kReadable = {  // in the files' order
    Readable{DType::kInt64, "I64"}, Readable{DType::kFp32, "F32"}, Readable{DType::kInt32, "I32"},
    Readable{DType::kBf16, "BF16"}, Readable{DType::kFp16, "F16"}};

size_t index_of(DType type) {
  for (size_t i = 0; i < kReadable.size(); ++i) {
    if (kReadable[i].type == type) return i;
  }
  fail_argument("safetensors", "dtype", kReadableTypes, dtype_name(type));
}

}  // namespace

std::optional<int64_t> element_bits(std::string_view name) {
  for (const Named& type : kTypes) {
    if (type.name == name) return type.bits;
  }
  return std::nullopt;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const Readable& readable : kReadable) {
    if (readable.name == name) return readable.type;
  }
  return std::nullopt;
}

std::string_view name_of(DType type) { return kReadable[index_of(type)].name; }

int file_order(DType type) { return static_cast<int>(index_of(type)); }

}  // namespace coda::checkpoint
