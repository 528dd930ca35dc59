// How far a result may be from the fp64 formula: RMS and largest error, each at most twice that of
// the unfused computation plus 2^-24·√K of the RMS value. Rounding the fp64 result once to its type
// is always allowed. Infinities and NaNs must be where the formula or the unfused computation has
// them: ∞·0 where fp64 has ∞ times a number that is too small for fp32.
#pragma once
#include <string>

#include "coda/reference/formula.h"

namespace coda::tools {

// Errors of a computation against fp64, summed over one or several draws of its inputs.
class Yardstick {
 public:
  void add(const reference::Array& computed, const reference::Array& want);
  int64_t count() const { return count_; }
  double rms_error() const;
  double max_error() const { return max_error_; }
  double rms_value() const;

 private:
  int64_t count_ = 0;
  double squared_errors_ = 0, squared_values_ = 0, max_error_ = 0;
};

// What is wrong, or nothing.
struct Finding {
  std::string text;
  bool doubtful = false;  // beyond a limit, but by less than a factor of four
};

// Below this many elements an error says little: other draws of the same case are added.
inline constexpr int64_t kEnoughElements = 256;

// What one output has to be.
class Expectation {
 public:
  // exact: equal to the fp64 result, rounded once.
  Expectation(reference::Array want, DType type, int64_t K, bool exact);

  void add_unfused(const reference::Array& unfused);
  void add_other_draw(const reference::Array& unfused, const reference::Array& want);

  Finding mismatch(const reference::Array& got) const;

 private:
  double rms_limit() const;
  double max_limit() const;

  reference::Array want_, rounded_;  // rounded_: once, to the type
  reference::Array unfused_values_;
  DType type_;
  double floor_;
  bool exact_;
  Yardstick once_, unfused_, others_;  // others_: of other draws
};

}  // namespace coda::tools
