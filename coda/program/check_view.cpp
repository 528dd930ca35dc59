#include "coda/program/check_view.h"

#include <fmt/format.h>

#include "coda/core/error.h"

namespace coda {

void check_view(const std::string& operation, const std::string& argument, const TensorView& view,
                int64_t alignment) {
  const auto fail = [&](const std::string& expected, const std::string& got) {
    fail_argument(operation, argument, expected, got);
  };
  const auto extents = [&] { return fmt::format("[{}, {}]", view.rows, view.columns); };
  if (view.rows < 0 || view.columns < 0) fail("extents of at least 0", extents());
  if (view.empty()) {  // those of others are bounded by memory
    if (view.rows > kMaxExtent || view.columns > kMaxExtent) {
      fail(fmt::format("extents of at most {}", kMaxExtent), extents());
    }
    return;
  }
  if (view.lines() > 1 && view.ld < view.line()) {
    fail(fmt::format("a leading dimension of at least {}", view.line()),
         fmt::format("{}", view.ld));
  }
  int64_t bytes = 0;
  const bool overflow =
      __builtin_mul_overflow(view.lines() - 1, view.ld, &bytes) ||
      __builtin_add_overflow(bytes, view.line(), &bytes) ||
      __builtin_mul_overflow(bytes, view.element_bytes, &bytes) ||
      __builtin_add_overflow(bytes, reinterpret_cast<intptr_t>(view.data), &bytes);
  if (overflow) {
    fail("a size in bytes below 2^63",
         fmt::format("{} lines with a leading dimension of {}", view.lines(), view.ld));
  }
  if (view.data == nullptr) {
    fail(fmt::format("{} elements", view.rows * view.columns), "a null pointer");
  }
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(alignment) != 0) {
    fail(fmt::format("data aligned to {} bytes", alignment),
         fmt::format("address {}", fmt::ptr(view.data)));
  }
}

}  // namespace coda
