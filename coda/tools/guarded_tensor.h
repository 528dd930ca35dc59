// A tensor in memory with guard bands before and after it and padding between its lines, all of it
// filled with a NaN that no computation gives: what a program leaves out or writes beside shows.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "coda/core/view.h"
#include "coda/reference/array.h"

namespace coda::tools {

class GuardedTensor {
 public:
  // `view` without data says type, extents, leading dimension and major; `misalignment` counts
  // elements beyond a cache line's begin.
  GuardedTensor(TensorView view, int64_t misalignment);
  GuardedTensor(GuardedTensor&&) = default;  // the view goes with the memory
  GuardedTensor(const GuardedTensor&) = delete;

  // Its data is null where there is no element.
  const TensorView& view() const { return view_; }
  int members() const { return members_; }  // values per element: more than one in a state

  void poison();                               // the whole memory
  bool is_poison(int64_t i, int64_t j) const;  // the element has not been written
  void set(int64_t i, int64_t j, double value, int member = 0);
  double get(int64_t i, int64_t j, int member = 0) const;
  void unify_nans();  // of written elements: all get the same bits

  // What changed outside of the elements, or nothing.
  std::string damage() const;
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte>& bytes() { return bytes_; }

  // The part of a matrix that begins at (row, column), into or out of the elements.
  void copy_from(const reference::Array& whole, int64_t row, int64_t column, int member = 0);
  void copy_to(reference::Array& whole, int64_t row, int64_t column, int member = 0) const;

 private:
  std::byte* element(int64_t index) { return bytes_.data() + begin_ + index * view_.element_bytes; }
  const std::byte* element(int64_t index) const {
    return bytes_.data() + begin_ + index * view_.element_bytes;
  }
  int64_t index(int64_t i, int64_t j) const {
    return view_.major == Major::kRow ? i * view_.ld + j : j * view_.ld + i;
  }
  void poison_element(std::byte* to) const;
  bool element_is_poison(const std::byte* from) const;

  TensorView view_;
  int members_ = 1;
  int64_t begin_ = 0;     // of the first element, in bytes
  int64_t elements_ = 0;  // of the memory between the guard bands
  std::vector<std::byte> bytes_;
};

}  // namespace coda::tools
