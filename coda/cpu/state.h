// The states of a reduction as SIMD vectors, and their fold to one. The fold is a tree that always
// combines values half the width apart, so the result is the same for every vector length.
#pragma once
#include "coda/cpu/row_layout.h"
#include "coda/program/reflect.h"

namespace coda::cpu {

// The members of a state, whether it is a plain value or an aggregate of them.
template <class State, class F>
CODA_HD decltype(auto) with_state_members(State& state, F&& f) {
  if constexpr (Value<stdlib::remove_const_t<State>>) {
    return f(state);
  } else {
    return coda::detail::with_members(state, f);
  }
}

template <class Reduction, class Layout, Isa kIsa>
struct VectorStates {
  static constexpr int kVectors = Layout::kVectors, kLanes = simd::kLanes;
  using Single = RowLayout<kIsa, kLanes>;
  using Vector = Fragment<Single, float, Space::kElement>;
  using State = typename Reduction::template State<Vector>;
  using Result = typename Reduction::template State<float>;
  static constexpr int kMembers = sizeof(Result) / sizeof(float);

  State state[kVectors];

  template <class... V>
  static CODA_HD VectorStates lift(const V&... value) {
    static_assert(
        requires(const Fragment<Single, typename V::Element, Space::kElement>&... one) {
          { Reduction::lift(one...) } -> stdlib::same_as<State>;
        },
        "coda: the reduction's lift takes other values: as many, and floats (to_float(x) makes "
        "them of integers)");
    VectorStates result;
    CODA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      result.state[v] = Reduction::lift(
          Fragment<Single, typename V::Element, Space::kElement>{{value.lane[v]}}...);
    }
    return result;
  }

  static CODA_HD VectorStates combine(const VectorStates& a, const VectorStates& b) {
    VectorStates result;
    CODA_UNROLL
    for (int v = 0; v < kVectors; ++v) result.state[v] = Reduction::combine(a.state[v], b.state[v]);
    return result;
  }

  // Replaces the states from column `count` on by the identity.
  CODA_HD void keep_first(int count) {
    if (count == kVectors * kLanes) return;
    const State identity = Reduction::template identity<Vector>();
    CODA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const int left = count - v * kLanes;
      const auto keep =
          simd::hn::FirstN(simd::FloatTag(), static_cast<size_t>(left < 0        ? 0
                                                                 : left > kLanes ? kLanes
                                                                                 : left));
      with_state_members(state[v], [&](auto&... member) {
        with_state_members(identity, [&](const auto&... other) {
          ((member.lane[0] = simd::hn::IfThenElse(keep, member.lane[0], other.lane[0])), ...);
        });
      });
    }
  }

  CODA_HD Result fold() const {
    if constexpr (CombinesAll<Reduction>) {
      return fold_lanes(Reduction::combine_all(Reduction::template identity<Vector>(), state));
    } else {
      State folded[kVectors];
      CODA_UNROLL
      for (int v = 0; v < kVectors; ++v) folded[v] = state[v];
      return fold_lanes(combine_halves(
          folded, [](const State& a, const State& b) { return Reduction::combine(a, b); }));
    }
  }

 private:
  static CODA_HD Result fold_lanes(State folded) {
    if constexpr (CombinesAll<Reduction>) {
      // As vectors: an expensive combine costs the same for one lane as for all.
      CODA_UNROLL
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        State upper = folded;
        with_state_members(upper, [&](auto&... member) {
          ((member.lane[0] = lanes_from(member.lane[0], distance)), ...);
        });
        folded = Reduction::combine(folded, upper);
      }
    }
    HWY_ALIGN float lanes[kMembers][kLanes];
    int i = 0;
    with_state_members(folded, [&](const auto&... member) {
      (simd::hn::Store(member.lane[0], simd::FloatTag(), lanes[i++]), ...);
    });
    if constexpr (CombinesAll<Reduction>) return gather(lanes, 0);
    Result results[kLanes];
    CODA_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) results[lane] = gather(lanes, lane);
    return combine_halves(
        results, [](const Result& a, const Result& b) { return Reduction::combine(a, b); });
  }

  // The lanes from `first` on, then anything.
  static CODA_HD simd::FloatVector lanes_from(simd::FloatVector v, int first) {
    float memory[2 * kLanes] = {};
    simd::store(v, memory);
    return simd::load(memory + first);
  }

 public:
  // Running states of a tile's columns: member i of column c at memory[i·stride + c].
  static CODA_HD VectorStates load(const float* memory, int64_t stride) {
    VectorStates result;
    CODA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      int i = 0;
      with_state_members(result.state[v], [&](auto&... member) {
        ((member.lane[0] = simd::load(memory + stride * i++ + v * kLanes)), ...);
      });
    }
    return result;
  }
  CODA_HD void store(float* memory, int64_t stride) const {
    CODA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      int i = 0;
      with_state_members(state[v], [&](const auto&... member) {
        (simd::store(member.lane[0], memory + stride * i++ + v * kLanes), ...);
      });
    }
  }

 private:
  static CODA_HD Result gather(const float (&lanes)[kMembers][kLanes], int lane) {
    Result result;
    int i = 0;
    with_state_members(result, [&](auto&... member) { ((member = lanes[i++][lane]), ...); });
    return result;
  }
};

}  // namespace coda::cpu
