// The element types of safetensors files.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "coda/core/types.h"

namespace coda::checkpoint {

inline constexpr const char* kReadableTypes = "BF16, F16, F32, I32 and I64";

std::optional<int64_t> element_bits(std::string_view name);  // none for a type that is unknown
std::optional<DType> dtype_named(std::string_view name);     // none for one that we do not read
std::string_view name_of(DType type);                        // of a type that we read

// Files hold large elements first, so that all are aligned; among those of one size, this order.
int file_order(DType type);

}  // namespace coda::checkpoint
