#include "coda/catalogue/cross_entropy_check.h"

#include <fmt/format.h>

#include <cmath>

#include "coda/program/check_view.h"

namespace coda::catalogue {
namespace {

constexpr const char* kName = "linear_cross_entropy";

}  // namespace

void WorkspaceParts::add(int64_t rows, int64_t columns, int64_t element_bytes) {
  int64_t bytes = 0, end = 0;
  if (__builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, element_bytes, &bytes) ||
      __builtin_add_overflow(bytes, bytes_ + kWorkspaceAlignment - 1, &end)) {
    fail_argument(kName, "workspace", "a size in bytes below 2^63",
                  fmt::format("one for {} times {} elements", rows, columns));
  }
  bytes_ = end / kWorkspaceAlignment * kWorkspaceAlignment;
}

void check_chunk(const char* name, int64_t chunk, int64_t multiple) {
  if (chunk > 0 && chunk % multiple == 0) return;
  fail_argument(kName, name,
                multiple == 1 ? std::string("at least 1")
                              : fmt::format("a multiple of {}, at least that", multiple),
                fmt::format("{}", chunk));
}

void check_extents(int64_t rows, int64_t vocabulary) {
  const auto check = [](const char* name, int64_t extent) {
    if (extent >= 0 && extent <= kMaxExtent) return;
    fail_argument(kName, name, fmt::format("0 to {} rows", kMaxExtent), fmt::format("{}", extent));
  };
  check("x", rows);
  check("weight", vocabulary);
}

void check_loss(row::TensorCheck& check, const CrossEntropyLoss& outputs, int64_t losses,
                int64_t rows) {
  check.output("loss", vector_of(outputs.loss, losses), {1, losses}, {DType::kFp32});
  check.output("lse", vector_of(outputs.lse, rows), {1, rows}, {DType::kFp32});
  if (outputs.error != nullptr) {
    check.output("error", vector_of(outputs.error, 1), {1, 1}, {DType::kInt32});
  }
}

void check_options(const CrossEntropyOptions& options) {
  const auto check = [](const char* name, float value, bool fine, const char* expected) {
    if (!fine) fail_argument(kName, name, expected, fmt::format("{}", value));
  };
  check("soft_cap", options.soft_cap, options.soft_cap >= 0 && std::isfinite(options.soft_cap),
        "0 (none) or a positive number");
  check("z_loss", options.z_loss, options.z_loss >= 0 && std::isfinite(options.z_loss),
        "0 or a positive number");
  check("smoothing", options.smoothing, options.smoothing >= 0 && options.smoothing < 1,
        "a number from 0 to below 1");
}

}  // namespace coda::catalogue
