// Programs whose sums over a head run on the CPU, and which of them run in kernels too.
#include "coda/author/inspect_group_sums.h"

#include <gtest/gtest.h>

#include "coda/trace/run.h"
#include "tests/program/expect_error.h"

namespace coda::author {

// What Body stores of both halves of a head.
template <class Body>
struct OverHeads {
  Paired<Store<float>> out;
  static constexpr auto port_names = names("out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;
  template <class Tile>
  void operator()(Tile& tile) const {
    Body::store(tile, out, tile.accumulator(0), tile.accumulator(1));
  }
};

// One for q, two for k: no tile makes more than two.
struct OtherSumsBySegment {
  template <class Tile, class Out, class V>
  static void store(Tile& tile, const Out& out, const V& a, const V& b) {
    if (tile.segment() == 0) {
      tile.store(out, a * tile.group_sum(a * a + b * b), b);
    } else {
      tile.store(out, a * tile.group_sum(a), b * tile.group_sum(b));
    }
  }
};

// The graph has one node for all.
struct ThreeEqualSums {
  template <class Tile, class Out, class V>
  static void store(Tile& tile, const Out& out, const V& a, const V& b) {
    const auto sum = [&] { return tile.group_sum(a * a + b * b); };
    tile.store(out, a * sum() + sum(), b * sum());
  }
};

struct SumOfASum {
  template <class Tile, class Out, class V>
  static void store(Tile& tile, const Out& out, const V& a, const V& b) {
    const auto sum = tile.group_sum(b * rsqrt(tile.group_sum(a * a)));
    tile.store(out, a * sum, b * sum);
  }
};

// What many paths of a graph lead to is looked at once.
struct SumOfALoop {
  template <class Tile, class Out, class V>
  static void store(Tile& tile, const Out& out, const V& a, const V& b) {
    V y = a;
    for (int i = 0; i < 40; ++i) y = y * (1.5f - 0.5f * b * y * y);
    const auto sum = tile.group_sum(y);
    tile.store(out, a * sum, b * sum);
  }
};

struct SumOfATensor {
  PerElement<const float> weight;
  Paired<Store<float>> out;
  static constexpr auto port_names = names("weight", "out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto a = tile.accumulator(0), b = tile.accumulator(1);
    const auto sum = tile.group_sum(a * tile.load(weight));
    tile.store(out, a * sum, b * sum);
  }
};

namespace {

template <class P>
void inspected() {
  inspect_group_sums(trace::run(P{}));
}

TEST(InspectGroupSums, TakesWhatKernelsCanMake) {
  inspected<OverHeads<OtherSumsBySegment>>();
  inspected<OverHeads<SumOfALoop>>();
}

TEST(InspectGroupSums, RefusesWhatTheyCannot) {
  const std::string cpu = "it runs on the CPU as it is";
  expect_error([] { inspected<OverHeads<ThreeEqualSums>>(); },
               {"group_sum", "at most 2", "got 3", cpu});
  expect_error([] { inspected<OverHeads<SumOfASum>>(); }, {"group_sum", "all sums at once", cpu});
  expect_error([] { inspected<SumOfATensor>(); }, {"group_sum", "got 'weight'", cpu});
}

}  // namespace
}  // namespace coda::author
