// Tensors for calls of row operations, alive as long as a test, and whether one was written to.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "coda/core/view.h"

namespace coda {

inline constexpr float kUntouched = 77;

// Of fp32; outputs hold kUntouched.
class Tensors {
 public:
  TensorView matrix(int64_t rows, int64_t columns, float value = 1) {
    auto& data = floats_.emplace_back(static_cast<size_t>(rows * columns), value);
    return erase(Matrix<float>(data.data(), rows, columns));
  }
  TensorView out(int64_t rows, int64_t columns) { return matrix(rows, columns, kUntouched); }
  TensorView integers(std::vector<int64_t> values) {
    auto& data = integers_.emplace_back(std::move(values));
    return erase(Matrix<int64_t>(data.data(), 1, static_cast<int64_t>(data.size())));
  }

 private:
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<int64_t>> integers_;
};

inline void expect_untouched(const TensorView& view) {
  const auto* data = static_cast<const float*>(view.data);
  for (int64_t i = 0; i < view.rows * view.columns; ++i) ASSERT_EQ(data[i], kUntouched);
}

}  // namespace coda
