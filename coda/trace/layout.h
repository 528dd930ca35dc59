// Fragments whose lanes are nodes: every index space has one. Host only.
#pragma once
#include "coda/program/math.h"
#include "coda/trace/builder.h"

namespace coda::trace {

// Where the nodes that this thread makes go: a constant comes from nowhere else.
class Recording {
 public:
  explicit Recording(Builder& builder);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  static Builder& builder();

 private:
  Builder* before_;
};

template <class T>
constexpr Element element_of() {
  return std::is_same_v<T, bool>    ? Element::kMask
         : std::is_same_v<T, float> ? Element::kFloat
                                    : Element::kInteger;
}

// gcc 12 does not take what may throw in the unrolled loops over lanes.
struct Layout {
  template <class ElementType>
  struct Lane {
    int node = -1;
  };
  static constexpr int count(Space) { return 1; }
  static constexpr int project(Space, int) { return 0; }
  // Graphs know angles as they are: what rotation() does about rounding means nothing to them.
  static constexpr bool kWholeRotation = true;

  template <class ElementType>
  static Lane<ElementType> broadcast(ElementType value) noexcept {
    return {Recording::builder().constant(static_cast<double>(value), element_of<ElementType>())};
  }
  template <class Operation, class... E>
    requires requires(Operation operation, E... values) { operation(values...); }
  static auto apply(Operation, Lane<E>... lanes) noexcept {
    using Result = typename Operation::template Result<E...>;
    return Lane<Result>{Recording::builder().apply(function_of(Operation::name), lanes.node...)};
  }
};

template <class ElementType, Space kSpace>
using Values = Fragment<Layout, ElementType, kSpace>;

}  // namespace coda::trace
