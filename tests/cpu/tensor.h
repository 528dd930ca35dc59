// Matrices for tests: any major, a leading dimension with room to spare, guard bands on all sides.
// Whatever is not an element holds NaN (all bits set), and so does an output until it is written.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "coda/core/view.h"

namespace coda::cpu {

template <class T>
class Tensor {
 public:
  static constexpr int64_t kGuard = 67, kPadding = 5;

  Tensor(int64_t rows, int64_t columns, Major major = Major::kRow)
      : rows_(rows),
        columns_(columns),
        ld_((major == Major::kRow ? columns : rows) + kPadding),
        major_(major),
        elements_(2 * kGuard + ld_ * (major == Major::kRow ? rows : columns)) {
    clear();
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Matrix<T> view() { return {elements_.data() + kGuard, rows_, columns_, ld_, major_}; }
  Matrix<const T> view() const { return {elements_.data() + kGuard, rows_, columns_, ld_, major_}; }
  T* data() { return elements_.data() + kGuard; }
  const T* data() const { return elements_.data() + kGuard; }

  T& operator()(int64_t i, int64_t j) { return elements_[index(i, j)]; }
  const T& operator()(int64_t i, int64_t j) const { return elements_[index(i, j)]; }
  double value(int64_t i, int64_t j) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>((*this)(i, j));
    } else {
      return to_float((*this)(i, j));
    }
  }

  void clear() {
    std::memset(static_cast<void*>(elements_.data()), 0xff, elements_.size() * sizeof(T));
  }
  template <class F>
  Tensor& fill(F f) {  // f(i, j)
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < columns_; ++j) set(i, j, f(i, j));
    }
    return *this;
  }
  Tensor& fill_integers(uint32_t seed, int range = 3) {
    std::minstd_rand random(seed + 1);
    std::uniform_int_distribution<int> draw(-range, range);
    return fill([&](int64_t, int64_t) { return draw(random); });
  }
  void set(int64_t i, int64_t j, double value) {
    if constexpr (std::is_integral_v<T>) {
      (*this)(i, j) = static_cast<T>(value);
    } else {
      (*this)(i, j) = from_float<T>(static_cast<float>(value));
    }
  }

  // Nothing outside of the elements has been written.
  bool intact() const {
    std::vector<T> outside = elements_;
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < columns_; ++j) {
        std::memset(static_cast<void*>(&outside[index(i, j)]), 0xff, sizeof(T));
      }
    }
    return all_bits_set(outside);
  }
  // Nothing at all has been written since clear().
  bool untouched() const { return all_bits_set(elements_); }
  bool same_bits(const Tensor& other) const {
    return elements_.size() == other.elements_.size() &&
           std::memcmp(elements_.data(), other.elements_.data(), elements_.size() * sizeof(T)) == 0;
  }

 private:
  size_t index(int64_t i, int64_t j) const {
    return static_cast<size_t>(kGuard + (major_ == Major::kRow ? i * ld_ + j : j * ld_ + i));
  }
  static bool all_bits_set(const std::vector<T>& elements) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(elements.data());
    return std::all_of(bytes, bytes + elements.size() * sizeof(T),
                       [](unsigned char byte) { return byte == 0xff; });
  }

  int64_t rows_, columns_, ld_;
  Major major_;
  std::vector<T> elements_;
};

// Every element equals f(i, j), and nothing else has been written.
template <class T, class F>
void expect_equal(const Tensor<T>& got, F f, const char* name) {
  EXPECT_TRUE(got.intact()) << name << ": written outside";
  int failures = 0;
  for (int64_t i = 0; i < got.rows() && failures < 3; ++i) {
    for (int64_t j = 0; j < got.columns() && failures < 3; ++j) {
      const double expected = f(i, j);
      if (got.value(i, j) == expected) continue;
      if (std::isnan(expected) && std::isnan(got.value(i, j))) continue;
      ++failures;
      ADD_FAILURE() << name << "(" << i << ", " << j << "): expected " << expected << ", got "
                    << got.value(i, j);
    }
  }
}

// A·Bᵀ in fp64; for integers exact.
template <class T>
std::vector<double> product(const Tensor<T>& a, const Tensor<T>& b) {
  std::vector<double> result(static_cast<size_t>(a.rows() * b.rows()));
  std::vector<double> row(static_cast<size_t>(a.columns()));
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t k = 0; k < a.columns(); ++k) row[static_cast<size_t>(k)] = a.value(i, k);
    for (int64_t j = 0; j < b.rows(); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns(); ++k) sum += row[static_cast<size_t>(k)] * b.value(j, k);
      result[static_cast<size_t>(i * b.rows() + j)] = sum;
    }
  }
  return result;
}

}  // namespace coda::cpu
