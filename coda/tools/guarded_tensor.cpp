#include "coda/tools/guarded_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace coda::tools {
namespace {

constexpr int64_t kGuardElements = 64, kCacheLine = 64;

// Signalling NaNs with a payload of their own, as the bytes of two or four: as floats, halves and
// pairs of either they are NaN, and arithmetic only gives quiet ones.
constexpr uint16_t kPoisonBf16 = 0x7fa5, kPoisonFp16 = 0x7da5;
constexpr uint32_t kPoisonFp32 = 0x7fa5a5a5;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace

GuardedTensor::GuardedTensor(TensorView view, int64_t misalignment) : view_(view) {
  if (view.dtype == DType::kState) members_ = static_cast<int>(view.element_bytes / 4);
  if (!view.empty()) elements_ = (view.lines() - 1) * view.ld + view.line();
  const int64_t before = kGuardElements + misalignment;
  bytes_.resize(
      static_cast<size_t>((before + elements_ + kGuardElements) * view.element_bytes + kCacheLine));
  const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
  const auto to_line = static_cast<int64_t>((kCacheLine - address % kCacheLine) % kCacheLine);
  begin_ = to_line + before * view.element_bytes;
  poison();
  view_.data = view.empty() ? nullptr : element(0);
}

void GuardedTensor::poison_element(std::byte* to) const {
  switch (view_.dtype) {
    case DType::kBf16: return write(to, kPoisonBf16);
    case DType::kFp16: return write(to, kPoisonFp16);
    default:
      for (int64_t i = 0; i < view_.element_bytes; i += 4) write(to + i, kPoisonFp32);
  }
}

bool GuardedTensor::element_is_poison(const std::byte* from) const {
  switch (view_.dtype) {
    case DType::kBf16: return read<uint16_t>(from) == kPoisonBf16;
    case DType::kFp16: return read<uint16_t>(from) == kPoisonFp16;
    default: break;
  }
  for (int64_t i = 0; i < view_.element_bytes; i += 4) {
    if (read<uint32_t>(from + i) != kPoisonFp32) return false;
  }
  return true;
}

void GuardedTensor::poison() {
  for (int64_t i = -kGuardElements; i < elements_ + kGuardElements; ++i) poison_element(element(i));
}

bool GuardedTensor::is_poison(int64_t i, int64_t j) const {
  return element_is_poison(element(index(i, j)));
}

void GuardedTensor::set(int64_t i, int64_t j, double value, int member) {
  std::byte* to = element(index(i, j));
  switch (view_.dtype) {
    case DType::kBf16: return write(to, from_float<bf16>(static_cast<float>(value)).bits);
    case DType::kFp16: return write(to, from_float<fp16>(static_cast<float>(value)).bits);
    case DType::kInt32: return write(to, static_cast<int32_t>(value));
    case DType::kInt64: return write(to, static_cast<int64_t>(value));
    case DType::kFp32:
    case DType::kState: return write(to + 4 * member, static_cast<float>(value));
  }
}

double GuardedTensor::get(int64_t i, int64_t j, int member) const {
  const std::byte* from = element(index(i, j));
  switch (view_.dtype) {
    case DType::kBf16: return to_float(bf16{read<uint16_t>(from)});
    case DType::kFp16: return to_float(fp16{read<uint16_t>(from)});
    case DType::kInt32: return read<int32_t>(from);
    case DType::kInt64: return static_cast<double>(read<int64_t>(from));
    case DType::kFp32:
    case DType::kState: return read<float>(from + 4 * member);
  }
  return 0;
}

void GuardedTensor::unify_nans() {
  for (int64_t i = 0; i < view_.rows; ++i) {
    for (int64_t j = 0; j < view_.columns; ++j) {
      if (is_poison(i, j)) continue;
      for (int member = 0; member < members_; ++member) {
        if (!std::isnan(get(i, j, member))) continue;
        set(i, j, std::numeric_limits<double>::quiet_NaN(), member);
      }
    }
  }
}

std::string GuardedTensor::damage() const {
  for (int64_t i = -kGuardElements; i < elements_ + kGuardElements; ++i) {
    const bool between = i >= 0 && i < elements_;
    if (between && i % view_.ld < view_.line()) continue;
    if (element_is_poison(element(i))) continue;
    if (!between) {
      return fmt::format("{} element(s) {} it overwritten", i < 0 ? -i : i - elements_ + 1,
                         i < 0 ? "before" : "behind");
    }
    return fmt::format("padding overwritten, {} element(s) behind line {}",
                       i % view_.ld - view_.line() + 1, i / view_.ld);
  }
  return "";
}

void GuardedTensor::copy_from(const reference::Array& whole, int64_t row, int64_t column,
                              int member) {
  for (int64_t i = 0; i < view_.rows; ++i) {
    for (int64_t j = 0; j < view_.columns; ++j) set(i, j, whole(row + i, column + j), member);
  }
}

void GuardedTensor::copy_to(reference::Array& whole, int64_t row, int64_t column,
                            int member) const {
  for (int64_t i = 0; i < view_.rows; ++i) {
    for (int64_t j = 0; j < view_.columns; ++j) whole(row + i, column + j) = get(i, j, member);
  }
}

}  // namespace coda::tools
