// The tensors of a row operation, each checked as it is named; at last, that outputs share memory
// with nothing else. Host only.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "coda/program/problem.h"
#include "coda/program/workspace.h"

namespace coda::row {

class TensorCheck {
 public:
  explicit TensorCheck(std::string operation) {
    program_.name = std::move(operation);
    program_.ports.reserve(kUsualTensors);
  }

  // Row-major, of these extents and one of these types.
  void input(const char* name, const TensorView& view, Extent extent,
             std::initializer_list<DType> types) {
    add(name, view, extent, types, PortKind::kPerRow);
  }
  // replaces: inputs that it may be exactly the view of, whose elements are read by the thread that
  // then writes them.
  void output(const char* name, const TensorView& view, Extent extent,
              std::initializer_list<DType> types,
              std::initializer_list<std::string_view> replaces = {});
  void workspace(const GivenWorkspace& given, int64_t needed,
                 int64_t alignment = kWorkspaceAlignment);
  // On a GPU TMA moves the tensor that was named last, which cuda::check_lines() is for.
  void moved_by_tma() { program_.ports.back().alignment = kTmaAlignment; }
  static constexpr int64_t kTmaAlignment = 16;
  // Of a norm over the rows of x, one row: of x's type, or bf16 beside an fp32 x.
  void norm_weight(const char* name, const TensorView& view, const TensorView& x);
  // Of a reduction's states, of so many bytes each.
  void states(const char* name, const TensorView& view, Extent extent, int64_t bytes);
  [[noreturn]] void fail(const char* name, const std::string& expected,
                         const std::string& got) const;
  // An argument that goes only with another.
  void together(const char* name, bool given, const char* with, bool other) const;
  void positive(const char* name, double number) const;      // and finite
  void not_negative(const char* name, double number) const;  // and finite

  // After all tensors; they are what a GPU checks further.
  const ProgramView& finish() const;

 private:
  void add(const char* name, const TensorView& view, Extent extent,
           std::initializer_list<DType> types, PortKind kind);

  static constexpr size_t kUsualTensors = 16;
  ProgramView program_;
};

constexpr int64_t parts_of(int64_t extent) { return (extent + kPartialWidth - 1) / kPartialWidth; }

// f.template operator()<T>() for the type of a tensor that has been checked.
template <class F>
void with_element(DType type, F&& f) {
  switch (type) {
    case DType::kBf16: return f.template operator()<bf16>();
    case DType::kFp16: return f.template operator()<fp16>();
    default: return f.template operator()<float>();
  }
}
template <class F>
void with_integer(DType type, F&& f) {
  if (type == DType::kInt32) return f.template operator()<int32_t>();
  return f.template operator()<int64_t>();
}
// <T, Stream> of a stream that has this type or fp32.
template <class F>
void with_stream(DType type, DType stream, F&& f) {
  with_element(type, [&]<class T>() {
    if (stream == type) return f.template operator()<T, T>();
    f.template operator()<T, float>();
  });
}
// <X, T> of a norm's weight that has x's type or bf16.
template <class F>
void with_norm_weight(DType x, DType weight, F&& f) {
  with_element(x, [&]<class X>() {
    if (weight == x) return f.template operator()<X, X>();
    f.template operator()<X, bf16>();
  });
}

template <class T>
T* data_of(const TensorView& view) {  // outputs are handed over as inputs are
  return static_cast<T*>(const_cast<void*>(view.data));
}
template <class T>
T* data_of(const std::optional<TensorView>& view) {
  return view ? data_of<T>(*view) : nullptr;
}
inline int64_t ld_of(const std::optional<TensorView>& view) { return view ? view->ld : 0; }

}  // namespace coda::row
