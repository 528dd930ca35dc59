// Ports: the named inputs and outputs of a program. A port's type says its index space; a
// default-constructed port is missing.
//   in:  PerRow [M], PerColumn [N], PerElement [M, N], Scalar, PerRowFrom (partials [parts, M]);
//        with B in halves of heads: PerHead [head_dim / 2], PairTable (two of [rows, head_dim / 2])
//   out: Store [M, N], RowReduce (partials [⌈N/64⌉, M], or of 128 columns), ColumnReduce (partials
//        [⌈M/64⌉, N])
// A port may be cut into kSegments alike with an operand (q, k, v); Optional and Paired wrap any of
// them.
#pragma once
#include "coda/core/view.h"
#include "coda/program/reduction.h"

namespace coda {

enum class PortKind {
  kPerRow,
  kPerColumn,
  kPerElement,
  kScalar,
  kPerRowFrom,
  kPerHead,
  kPairTable,
  kStore,
  kRowReduce,
  kColumnReduce
};

constexpr bool is_input(PortKind kind) { return kind <= PortKind::kPairTable; }

inline constexpr int kMaxSegments = 4;
inline constexpr int kPartialWidth =
    64;  // rows or columns behind one partial, on every executor and tile
inline constexpr int kMaxHeadDim = 256;

// What all ports but scalars hold: one view per segment.
template <class T, int kSegmentCount>
struct SegmentedViews {
  static_assert(kSegmentCount >= 1 && kSegmentCount <= kMaxSegments);
  using Element = stdlib::remove_const_t<T>;
  static constexpr int kSegments = kSegmentCount;
  static constexpr bool kOptional = false, kPaired = false;

  Matrix<T> view[kSegments];
  bool given = false;

  constexpr SegmentedViews() = default;
  template <class... Rest>
    requires(sizeof...(Rest) + 1 == kSegments)
  constexpr SegmentedViews(const Matrix<T>& first, const Rest&... rest)
      : view{first, Matrix<T>(rest)...}, given(true) {}
  // nullptr: nothing is given.
  constexpr SegmentedViews(const Matrix<T>* views) : given(views != nullptr) {
    for (int i = 0; given && i < kSegments; ++i) view[i] = views[i];
  }
};

template <class T, int kSegmentCount = 1>
struct PerRow : SegmentedViews<T, kSegmentCount> {
  static_assert(FloatElement<T> || IntegerElement<T>,
                "coda: PerRow holds bf16, fp16, float, int32_t or int64_t");
  static constexpr PortKind kKind = PortKind::kPerRow;
  using SegmentedViews<T, kSegmentCount>::SegmentedViews;
  constexpr PerRow(T* data, int64_t rows)
    requires(kSegmentCount == 1)
      : SegmentedViews<T, 1>(Matrix<T>(data, 1, rows)) {}
};

template <class T, int kSegmentCount = 1>
struct PerColumn : SegmentedViews<T, kSegmentCount> {
  static_assert(FloatElement<T>, "coda: PerColumn holds bf16, fp16 or float");
  static constexpr PortKind kKind = PortKind::kPerColumn;
  using SegmentedViews<T, kSegmentCount>::SegmentedViews;
  constexpr PerColumn(T* data, int64_t columns)
    requires(kSegmentCount == 1)
      : SegmentedViews<T, 1>(Matrix<T>(data, 1, columns)) {}
};

template <class T, int kSegmentCount = 1>
struct PerElement : SegmentedViews<T, kSegmentCount> {
  static_assert(FloatElement<T>, "coda: PerElement holds bf16, fp16 or float");
  static constexpr PortKind kKind = PortKind::kPerElement;
  using SegmentedViews<T, kSegmentCount>::SegmentedViews;
};

template <class T, int kSegmentCount = 1>
struct Store : SegmentedViews<T, kSegmentCount> {
  static_assert(FloatElement<T> && !stdlib::is_const_v<T>,
                "coda: Store writes bf16, fp16 or float");
  static constexpr PortKind kKind = PortKind::kStore;
  using SegmentedViews<T, kSegmentCount>::SegmentedViews;
};

// A number by value, or where it will be when the program runs (a loss gradient never visits the
// host).
template <class T>
struct Scalar {
  static_assert(FloatElement<T> || IntegerElement<T>,
                "coda: Scalar holds bf16, fp16, float, int32_t or int64_t");
  using Element = stdlib::remove_const_t<T>;
  static constexpr PortKind kKind = PortKind::kScalar;
  static constexpr int kSegments = 1;
  static constexpr bool kOptional = false, kPaired = false;

  Element value{};
  const Element* pointer = nullptr;
  bool given = false;

  constexpr Scalar() = default;
  constexpr Scalar(Element value) : value(value), given(true) {}
  constexpr Scalar(const Element* pointer) : pointer(pointer), given(pointer != nullptr) {}
  CODA_HD Element get() const { return pointer != nullptr ? *pointer : value; }
};

// Which of several ways a program computes, 0 to kLast: the same for every element, so that the
// program branches on what tile.choice(port) says. By value only: validate() refuses a number that
// is none of them. For the usual one the GPU has kernels without the branch.
template <class EnumType, EnumType kLast, EnumType kUsualChoice = EnumType{}>
struct Choice : Scalar<int32_t> {
  static constexpr int kChoices = static_cast<int>(kLast) + 1;
  static constexpr EnumType kUsual = kUsualChoice;
  constexpr Choice() = default;
  constexpr Choice(EnumType choice) : Scalar<int32_t>(static_cast<int32_t>(choice)) {}
  CODA_HD EnumType chosen() const { return static_cast<EnumType>(value); }
};

// One value per row, finished from the partials of another program's RowReduce: no kernel runs in
// between.
template <class FinishType>
struct PerRowFrom : SegmentedViews<const typename FinishType::Reduction::template State<float>, 1> {
  using Finish = FinishType;
  using State = typename Finish::Reduction::template State<float>;
  static constexpr PortKind kKind = PortKind::kPerRowFrom;
  Finish finish{};

  constexpr PerRowFrom() = default;
  constexpr PerRowFrom(const Matrix<const State>& partials, Finish finish)  // [parts, M]
      : SegmentedViews<const State, 1>(partials), finish(finish) {}
};

// Along the columns of a head and the same for every head: frequencies [head_dim / 2], or paired,
// the weight of a norm over it [head_dim].
template <class T>
struct PerHead : SegmentedViews<T, 1> {
  static_assert(FloatElement<T>, "coda: PerHead holds bf16, fp16 or float");
  static constexpr PortKind kKind = PortKind::kPerHead;
  using SegmentedViews<T, 1>::SegmentedViews;
  constexpr PerHead(T* data, int64_t columns) : SegmentedViews<T, 1>(Matrix<T>(data, 1, columns)) {}
};

// Two tables [rows, head_dim / 2] alike, whose rows a program looks up: cosines and sines by
// position. A row that they do not have reads as NaN.
template <class T>
struct PairTable : SegmentedViews<T, 2> {
  static_assert(FloatElement<T>, "coda: PairTable holds bf16, fp16 or float");
  static constexpr PortKind kKind = PortKind::kPairTable;
  using SegmentedViews<T, 2>::SegmentedViews;
};

namespace detail {
template <class R>
struct StateOf {  // of what is no reduction: anything, so that the message below is the only one
  using type = float;
};
template <Reduction R>
struct StateOf<R> {
  using type = typename R::template State<float>;
};
template <class R>
inline constexpr bool kHasSmallState = sizeof(typename StateOf<R>::type) <= 4 * sizeof(float);
}  // namespace detail

template <class ReductionType, int kColumns = kPartialWidth>
struct RowReduce : SegmentedViews<typename detail::StateOf<ReductionType>::type, 1> {
  static_assert(coda::Reduction<ReductionType>,
                "coda: a reduction has State, identity, lift, combine and finish");
  static_assert(detail::kHasSmallState<ReductionType>,
                "coda: a state is one number or a struct of up to four");
  static_assert(kColumns == 64 || kColumns == 128, "coda: a row partial covers 64 or 128 columns");
  using Reduction = ReductionType;
  using State = typename detail::StateOf<ReductionType>::type;
  static constexpr PortKind kKind = PortKind::kRowReduce;
  static constexpr int kWidth = kColumns;
  using SegmentedViews<State, 1>::SegmentedViews;
};

template <class ReductionType>
struct ColumnReduce : SegmentedViews<typename detail::StateOf<ReductionType>::type, 1> {
  static_assert(coda::Reduction<ReductionType>,
                "coda: a reduction has State, identity, lift, combine and finish");
  static_assert(detail::kHasSmallState<ReductionType>,
                "coda: a state is one number or a struct of up to four");
  using Reduction = ReductionType;
  using State = typename detail::StateOf<ReductionType>::type;
  static constexpr PortKind kKind = PortKind::kColumnReduce;
  static constexpr int kWidth = kPartialWidth;
  using SegmentedViews<State, 1>::SegmentedViews;
};

// May be missing: load takes the value to use instead, stores and reductions are then left out.
template <class Port>
struct Optional : Port {
  static constexpr bool kOptional = true;
  using Port::Port;
  constexpr Optional() = default;
  constexpr Optional(const Port& port) : Port(port) {}
};

// Covers both accumulators of a program whose operand B is cut into halves (RoPE): 2·N columns,
// first and second half of each head.
template <class Port>
struct Paired : Port {
  static constexpr bool kPaired = true;
  using Port::Port;
  constexpr Paired() = default;
  constexpr Paired(const Port& port) : Port(port) {}
};

template <class P>
concept Port = requires {
  { P::kKind } -> stdlib::convertible_to<PortKind>;
};
template <class P>
concept InputPort = Port<P> && is_input(P::kKind);
template <class P>
concept TablePort = Port<P> && P::kKind == PortKind::kPairTable;
template <class P>
concept StorePort = Port<P> && P::kKind == PortKind::kStore;
template <class P>
concept ReducePort =
    Port<P> && (P::kKind == PortKind::kRowReduce || P::kKind == PortKind::kColumnReduce);

}  // namespace coda
