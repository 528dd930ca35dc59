#include "coda/rows/tensor_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"
#include "coda/program/check_view.h"
#include "coda/program/operand.h"
#include "coda/program/overlap.h"

namespace coda::row {

void TensorCheck::fail(const char* name, const std::string& expected,
                       const std::string& got) const {
  fail_argument(program_.name, name, expected, got);
}

void TensorCheck::together(const char* name, bool given, const char* with, bool other) const {
  if (given && !other) fail(name, fmt::format("'{}' beside it", with), "nothing");
  if (other && !given) fail(name, fmt::format("a tensor beside '{}'", with), "nothing");
}

void TensorCheck::positive(const char* name, double number) const {
  if (number > 0 && std::isfinite(number)) return;
  fail(name, "a number above 0", fmt::format("{}", number));
}

void TensorCheck::not_negative(const char* name, double number) const {
  if (number >= 0 && std::isfinite(number)) return;
  fail(name, "a number, 0 or more", fmt::format("{}", number));
}

void TensorCheck::add(const char* name, const TensorView& view, Extent extent,
                      std::initializer_list<DType> types, PortKind kind) {
  if (std::ranges::count(types, view.dtype) == 0) {
    std::vector<std::string> names;
    for (const DType type : types) names.emplace_back(dtype_name(type));
    fail(name, fmt::format("elements of type {}", fmt::join(names, " or ")),
         dtype_name(view.dtype));
  }
  if (view.rows != extent.rows || view.columns != extent.columns) {
    fail(name, fmt::format("[{}, {}]", extent.rows, extent.columns),
         fmt::format("[{}, {}]", view.rows, view.columns));
  }
  if (view.major != Major::kRow) fail(name, "a row-major tensor", "a column-major one");
  check_view(program_.name, name, view, view.element_bytes);
  PortView port;
  port.name = name;
  port.kind = kind;
  port.given = true;
  port.view[0] = view;
  program_.ports.push_back(std::move(port));
}

void TensorCheck::output(const char* name, const TensorView& view, Extent extent,
                         std::initializer_list<DType> types,
                         std::initializer_list<std::string_view> replaces) {
  for (PortView& port : program_.ports) {  // the output stands for what it replaces too
    const bool may_be = std::ranges::count(replaces, port.name) != 0;
    if (may_be && same_view(port.view[0], view)) port.given = false;
  }
  add(name, view, extent, types, PortKind::kStore);
}

void TensorCheck::norm_weight(const char* name, const TensorView& view, const TensorView& x) {
  const Extent extent{1, x.columns};
  if (x.dtype == DType::kFp32) {
    input(name, view, extent, {DType::kFp32, DType::kBf16});
  } else {
    input(name, view, extent, {x.dtype});
  }
}

void TensorCheck::workspace(const GivenWorkspace& given, int64_t needed, int64_t alignment) {
  if (needed == 0) return;
  program_.ports.push_back(workspace_port(program_.name, given, needed, alignment));
}

void TensorCheck::states(const char* name, const TensorView& view, Extent extent, int64_t bytes) {
  if (view.dtype == DType::kState && view.element_bytes != bytes) {
    fail(name, fmt::format("states of {} bytes", bytes), fmt::format("{}", view.element_bytes));
  }
  output(name, view, extent, {DType::kState});
}

const ProgramView& TensorCheck::finish() const {
  check_overlap(program_, OperandView{}, OperandView{});
  return program_;
}

}  // namespace coda::row
