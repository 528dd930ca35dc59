// Fragments: the values a program computes with. A fragment holds one value per row, per column or
// per element of the part of a tile that an executor hands over at a time; combining fragments
// broadcasts. The executor's Layout says what a lane is (a float, a SIMD vector, a graph node) and
// how many lanes each index space has:
//   Lane<Element>                what holds values of float, int32_t or bool
//   count(Space)                 lanes of a fragment over that space
//   project(Space, i)            the lane of a per-row or per-column fragment for lane i of another
//   broadcast<Element>(value)    a lane that holds one value throughout
//   apply(operation, lanes...)   one operation of program/operation.h on lanes
#pragma once
#include "coda/core/std.h"

namespace coda {

enum class Space : int { kScalar = 0, kRow = 1, kColumn = 2, kElement = 3 };

constexpr Space join(Space a, Space b) {
  return static_cast<Space>(static_cast<int>(a) | static_cast<int>(b));
}

template <class LayoutType, class ElementType, Space kFragmentSpace>
struct Fragment {
  using Layout = LayoutType;
  using Element = ElementType;
  using Lane = typename Layout::template Lane<Element>;
  static constexpr Space kSpace = kFragmentSpace;
  static constexpr int kCount = Layout::count(kSpace);

  Lane lane[kCount];

  static CODA_HD Fragment constant(Element value) {
    Fragment result;
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) result.lane[i] = Layout::template broadcast<Element>(value);
    return result;
  }

  // The lane that belongs to lane i of a fragment over the space kTarget.
  template <Space kTarget>
  CODA_HD const Lane& at(int i) const {
    static_assert(join(kSpace, kTarget) == kTarget,
                  "coda: a fragment broadcasts only to a space that contains its own");
    if constexpr (kSpace == kTarget) {
      return lane[i];
    } else if constexpr (kSpace == Space::kScalar) {
      return lane[0];
    } else {
      return lane[Layout::project(kSpace, i)];
    }
  }
};

template <class T>
inline constexpr bool is_fragment = false;
template <class Layout, class Element, Space kSpace>
inline constexpr bool is_fragment<Fragment<Layout, Element, kSpace>> = true;

template <class T>
concept AnyFragment = is_fragment<stdlib::remove_cvref_t<T>>;
template <class T>
concept Number = stdlib::is_arithmetic_v<stdlib::remove_cvref_t<T>>;

namespace detail {

template <class... T>
struct FirstFragment;
template <AnyFragment T, class... Rest>
struct FirstFragment<T, Rest...> {
  using type = T;
};
template <class T, class... Rest>
struct FirstFragment<T, Rest...> : FirstFragment<Rest...> {};

// The element type that a plain number takes beside these fragments: that of the first one which is
// not a mask.
template <class... T>
struct NumberElement {
  using type = float;
};
template <AnyFragment T, class... Rest>
  requires(!stdlib::is_same_v<typename T::Element, bool>)
struct NumberElement<T, Rest...> {
  using type = typename T::Element;
};
template <class T, class... Rest>
struct NumberElement<T, Rest...> : NumberElement<Rest...> {};

template <class Layout, class Element, class T>
CODA_HD auto as_fragment(const T& value) {
  if constexpr (AnyFragment<T>) {
    static_assert(stdlib::is_same_v<typename T::Layout, Layout>,
                  "coda: fragments of two different tiles do not mix");
    return value;
  } else {
    static_assert(stdlib::is_integral_v<T> || stdlib::is_same_v<Element, float>,
                  "coda: a number beside an integer fragment is an integer too: to_float(x) makes "
                  "floats of the fragment");
    return Fragment<Layout, Element, Space::kScalar>::constant(static_cast<Element>(value));
  }
}

template <class Operation, class First, class... Rest>
CODA_HD auto map_fragments(Operation operation, const First& first, const Rest&... rest) {
  using Layout = typename First::Layout;
  constexpr Space kSpace = [] {
    Space space = First::kSpace;
    ((space = join(space, Rest::kSpace)), ...);
    return space;
  }();
  using Result =
      typename Operation::template Result<typename First::Element, typename Rest::Element...>;
  static_assert(
      requires {
        Layout::apply(operation, first.template at<kSpace>(0), rest.template at<kSpace>(0)...);
      },
      "coda: this operation does not take fragments of these element types together: to_float(x) "
      "makes floats of integers; a comparison gives a mask, which select(mask, 1.0f, 0.0f) makes "
      "a float of, and && combines masks");
  Fragment<Layout, Result, kSpace> result;
  constexpr int kCount = Layout::count(kSpace);
  CODA_UNROLL
  for (int i = 0; i < kCount; ++i) {
    result.lane[i] =
        Layout::apply(operation, first.template at<kSpace>(i), rest.template at<kSpace>(i)...);
  }
  return result;
}

}  // namespace detail

// Applies an operation lane by lane, broadcasting fragments and plain numbers alike.
template <class Operation, class... T>
  requires(AnyFragment<T> || ...)
CODA_HD auto map(Operation operation, const T&... values) {
  using Layout = typename detail::FirstFragment<T...>::type::Layout;
  using Element = typename detail::NumberElement<T...>::type;
  return detail::map_fragments(operation, detail::as_fragment<Layout, Element>(values)...);
}

}  // namespace coda
