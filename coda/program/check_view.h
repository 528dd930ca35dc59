// One tensor by itself. Host only.
#pragma once
#include <limits>
#include <string>

#include "coda/core/view.h"

namespace coda {

inline constexpr int64_t kMaxExtent =
    std::numeric_limits<int32_t>::max();  // row and column indices are 32 bits wide

// Throws where extents, leading dimension, size or address cannot be those of a tensor whose
// elements are aligned so.
void check_view(const std::string& operation, const std::string& argument, const TensorView& view,
                int64_t alignment);

}  // namespace coda
