#include "coda/reference/formula.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <limits>
#include <ranges>

#include "coda/core/error.h"
#include "coda/reference/tensor_core.h"

namespace coda::reference {
namespace {

// To a binary format with kBits of significand and normal numbers from 2^kMinExponent on.
template <int kBits, int kMinExponent, int kMaxExponent>
double round_to_format(double value) {
  const double magnitude = std::fabs(value);
  if (!(magnitude < std::numeric_limits<double>::infinity())) return value;  // infinity or NaN
  double rounded = 0;
  if (magnitude < std::ldexp(1.0, kMinExponent)) {
    // Adding 1.5·2^52 quanta leaves whole quanta, which the addition itself rounds to even.
    const double shift = std::ldexp(1.5, 52 + kMinExponent - (kBits - 1));
    rounded = (magnitude + shift) - shift;
  } else {
    constexpr int kDropped = 53 - kBits;
    const uint64_t bits = std::bit_cast<uint64_t>(magnitude);
    const uint64_t odd = (bits >> kDropped) & 1;
    const uint64_t half = (uint64_t{1} << (kDropped - 1)) - 1;
    rounded = std::bit_cast<double>((bits + half + odd) >> kDropped << kDropped);
    if (rounded >= std::ldexp(1.0, kMaxExponent + 1)) {
      rounded = std::numeric_limits<double>::infinity();
    }
  }
  return std::copysign(rounded, value);
}

Array round_all(DType type, Array value) {
  return map(std::move(value), [&](double v) { return round_to(type, v); });
}

}  // namespace

const Array& Arrays::at(const std::string& name) const {
  const auto found = find(name);
  if (found != end()) return found->second;
  throw Error(
      fmt::format("reference: there is no '{}', only {}; what may be missing is asked for by "
                  "given_or(in, \"{}\", 0) or in.contains(\"{}\")",
                  name, fmt::join(std::views::keys(*this), ", "), name, name));
}

std::vector<int64_t> segments_of(const Arrays& in, const std::string& name) {
  const auto found = in.find(name);
  if (found == in.end()) return {};
  return {found->second.values.begin(), found->second.values.end()};
}

Array given_or(const Arrays& in, const std::string& name, double otherwise) {
  const auto found = in.find(name);
  return found == in.end() ? Array(otherwise) : found->second;
}

double round_to(DType type, double value) {
  switch (type) {
    case DType::kBf16: return round_to_format<8, -126, 127>(value);
    case DType::kFp16: return round_to_format<11, -14, 15>(value);
    case DType::kFp32:
    case DType::kState: return round_to_format<24, -126, 127>(value);
    case DType::kInt32:
    case DType::kInt64: return std::nearbyint(value);
  }
  return value;
}

Array Rounding::matmul(const Array& a, const Array& b) const {
  if (!active_) return reference::matmul(a, b);
  return accumulation_ == Accumulation::kTensorCore ? matmul_tensor_core(a, b, storage_)
                                                    : matmul_fp32(a, b);
}

Array Rounding::row_partial_sums(const Array& x, const std::vector<int64_t>& segments,
                                 int width) const {
  return reference::row_partial_sums(x, segments, width, active_ ? Sums::kFp32 : Sums::kFp64);
}

Array Rounding::column_partial_sums(const Array& x, const std::vector<int64_t>& segments,
                                    int width) const {
  return reference::column_partial_sums(x, segments, width, active_ ? Sums::kFp32 : Sums::kFp64);
}

Array Rounding::operator()(Array value) const {
  return active_ ? round_all(storage_, std::move(value)) : value;
}

Array Rounding::fp32(Array value) const {
  return active_ ? round_all(DType::kFp32, std::move(value)) : value;
}

Array Rounding::as(const std::string& port, Array value) const {
  if (!active_) return value;
  const auto found = ports_.find(port);
  if (found == ports_.end()) {
    throw Error(
        fmt::format("reference: a formula rounds to the type of '{}', which is no port", port));
  }
  return round_all(found->second, std::move(value));
}

}  // namespace coda::reference
