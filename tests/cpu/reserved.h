// Address space for matrices that would not fit in memory: only the pages of their lines can be
// touched, anything else ends the process. The last element of every line, or else the first,
// stands at the edge of a page that cannot be read.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include "coda/core/view.h"

namespace coda::cpu {

enum class Edge { kBegin, kEnd };

template <class T>
class Reserved {
 public:
  // A leading dimension of at least `ld`, rounded up to whole pages.
  Reserved(int64_t rows, int64_t columns, int64_t ld, Major major, Edge edge = Edge::kEnd)
      : page_(sysconf(_SC_PAGESIZE)) {
    const int64_t line = (major == Major::kRow ? columns : rows) * size();
    const int64_t lines = major == Major::kRow ? rows : columns;
    const int64_t pages = (line + page_ - 1) / page_;
    const int64_t pitch = std::max((ld * size() + page_ - 1) / page_, pages + 1) * page_;
    bytes_ = static_cast<size_t>(lines * pitch + page_);
    void* mapping =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return;
    base_ = static_cast<char*>(mapping);
    const int64_t before = edge == Edge::kEnd ? pages * page_ - line : 0;
    for (int64_t i = 0; i < lines; ++i) {
      if (mprotect(base_ + page_ + i * pitch, pages * page_, PROT_READ | PROT_WRITE) != 0) return;
    }
    view_ = {reinterpret_cast<T*>(base_ + page_ + before), rows, columns, pitch / size(), major};
  }
  ~Reserved() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  bool available() const { return view_.data != nullptr; }
  Matrix<T> view() const { return view_; }
  T& operator()(int64_t i, int64_t j) const {
    return view_.data[view_.major == Major::kRow ? i * view_.ld + j : j * view_.ld + i];
  }
  template <class F>
  void fill(F f) const {  // f(i, j)
    for (int64_t i = 0; i < view_.rows; ++i) {
      for (int64_t j = 0; j < view_.columns; ++j) {
        (*this)(i, j) = from_float<T>(static_cast<float>(f(i, j)));
      }
    }
  }

 private:
  static constexpr int64_t size() { return static_cast<int64_t>(sizeof(T)); }

  int64_t page_;
  size_t bytes_ = 0;
  char* base_ = nullptr;
  Matrix<T> view_;
};

}  // namespace coda::cpu
