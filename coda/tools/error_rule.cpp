#include "coda/tools/error_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace coda::tools {
namespace {

using reference::Array;

Array round_all(const Array& x, DType type) {
  return map(x, [&](double v) { return reference::round_to(type, v); });
}

bool same_kind(double got, double want) {
  if (std::isfinite(want)) return std::isfinite(got);
  return std::isnan(want) ? std::isnan(got) : got == want;
}

// The first element that does not fit, as text.
template <class Fits>
std::string find_misfit(const Array& got, const Array& want, const char* rule, Fits&& fits) {
  for (int64_t i = 0; i < want.rows; ++i) {
    for (int64_t j = 0; j < want.columns; ++j) {
      if (fits(got(i, j), want(i, j))) continue;
      return fmt::format("[{}, {}]: got {}, want {}{}", i, j, got(i, j), want(i, j), rule);
    }
  }
  return "";
}

}  // namespace

void Yardstick::add(const Array& computed, const Array& want) {
  for (size_t i = 0; i < want.values.size(); ++i) {
    const double error = std::fabs(computed.values[i] - want.values[i]);
    if (!std::isfinite(error)) continue;
    ++count_;
    squared_errors_ += error * error;
    squared_values_ += want.values[i] * want.values[i];
    max_error_ = std::max(max_error_, error);
  }
}

double Yardstick::rms_error() const {
  return count_ == 0 ? 0 : std::sqrt(squared_errors_ / static_cast<double>(count_));
}

double Yardstick::rms_value() const {
  return count_ == 0 ? 0 : std::sqrt(squared_values_ / static_cast<double>(count_));
}

Expectation::Expectation(Array want, DType type, int64_t K, bool exact)
    : want_(std::move(want)),
      rounded_(round_all(want_, type)),
      type_(type),
      floor_(0x1p-24 * std::sqrt(static_cast<double>(K))),
      exact_(exact) {
  once_.add(rounded_, want_);
}

void Expectation::add_unfused(const Array& unfused) {
  unfused_.add(unfused, want_);
  unfused_values_ = unfused;
}

void Expectation::add_other_draw(const Array& unfused, const Array& want) {
  others_.add(unfused, want);
  others_.add(round_all(want, type_), want);
}

// Multiplied by the RMS value on both sides. Of few elements the errors scatter: n of them may be
// beyond the RMS error of many by a factor that falls with √n.
double Expectation::rms_limit() const {
  const double scatter =
      1 + 3 / std::sqrt(static_cast<double>(std::max<int64_t>(once_.count(), 1)));
  const double yardstick =
      std::max({unfused_.rms_error(), once_.rms_error(), scatter * others_.rms_error()});
  return 2 * yardstick + floor_ * std::max(once_.rms_value(), others_.rms_value());
}

double Expectation::max_limit() const {
  const double yardstick = std::max({unfused_.max_error(), once_.max_error(), others_.max_error()});
  return 2 * yardstick + floor_ * std::max(once_.rms_value(), others_.rms_value());
}

Finding Expectation::mismatch(const Array& got) const {
  if (got.rows != want_.rows || got.columns != want_.columns) {
    return {fmt::format(": got [{}, {}], want [{}, {}]", got.rows, got.columns, want_.rows,
                        want_.columns)};
  }
  if (exact_) {
    const auto equal = [](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    };
    return {find_misfit(got, rounded_, " exactly", equal)};
  }
  Array kinds = rounded_;
  for (size_t i = 0; i < unfused_values_.values.size(); ++i) {
    const double unfused = unfused_values_.values[i];
    if (!std::isfinite(unfused) && same_kind(got.values[i], unfused)) kinds.values[i] = unfused;
  }
  std::string misfit = find_misfit(got, kinds, "", same_kind);
  if (!misfit.empty()) return {misfit};

  Yardstick mine;
  mine.add(got, want_);
  const double scale = once_.rms_value() > 0 ? once_.rms_value() : 1;
  const double max_limit = this->max_limit(), rms_limit = this->rms_limit();
  if (mine.max_error() > max_limit) {
    const auto near = [&](double a, double b) {
      return !std::isfinite(a) || !std::isfinite(b) || std::fabs(a - b) <= max_limit;
    };
    misfit = find_misfit(got, want_, "", near);
    return {fmt::format("{}; largest error/RMS {:.3g} > {:.3g} (unfused {:.3g})", misfit,
                        mine.max_error() / scale, max_limit / scale, unfused_.max_error() / scale),
            mine.max_error() < 4 * max_limit};
  }
  if (mine.rms_error() > rms_limit) {
    return {fmt::format(": RMS error/RMS {:.3g} > {:.3g} (unfused {:.3g})",
                        mine.rms_error() / scale, rms_limit / scale, unfused_.rms_error() / scale),
            mine.rms_error() < 4 * rms_limit};
  }
  return {};
}

}  // namespace coda::tools
