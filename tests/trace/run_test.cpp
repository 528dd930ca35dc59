// Programs as graphs: what is recorded, and what is refused.
#include "coda/trace/run.h"

#include <gtest/gtest.h>

#include <limits>

#include "coda/core/error.h"
#include "coda/trace/derive.h"
#include "coda/trace/evaluate.h"
#include "coda/trace/print_cpp.h"

namespace coda::trace {
namespace {

// Σx², by a state of its own, without saying what its gradient is.
struct SquareSum {
  template <class V>
  struct State {
    V sum;
  };
  template <class V>
  static State<V> identity() {
    return {constant<V>(0.0f)};
  }
  template <class V>
  static State<V> lift(const V& x) {
    return {x * x};
  }
  template <class V>
  static State<V> combine(const State<V>& a, const State<V>& b) {
    return {a.sum + b.sum};
  }
  static float finish(const State<float>& state) { return state.sum; }
};

struct Squares {
  Optional<PerColumn<const float>> bias;
  Store<float> out;
  RowReduce<SquareSum> squares;
  static constexpr const char* name = "squares";
  static constexpr auto port_names = names("bias", "out", "squares");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto y = tile.accumulator() * 1.0f + tile.load(bias, 0.0f);
    tile.store(out, y);
    tile.reduce(squares, max(y, 0.0f));
  }
};

TEST(Trace, MissingPortsAndNeutralNumbersLeaveNoNodes) {
  const Graph graph = run(Squares{});
  EXPECT_EQ(graph.segments.size(), 1u);
  const auto stored = [](const Graph& of) {
    return of.nodes[static_cast<size_t>(of.segments[0][0].values[0])];
  };
  EXPECT_EQ(stored(graph).kind, NodeKind::kAccumulator);
  Squares with{};
  with.bias.given = true;
  EXPECT_EQ(stored(run(with)).function, Function::kAdd);
}

TEST(Trace, ReductionsOfOnesOwnAreEvaluated) {
  const auto out = evaluate(run(Squares{}), {{"accumulator.0", {{1, -2, 3}, {0.5, 0, -1}}}});
  EXPECT_EQ(out.at("squares"), (reference::Array{{10, 0.25}}));
}

void expect_refused(const std::function<void()>& what, const std::string& message) {
  try {
    what();
    ADD_FAILURE() << "not refused: " << message;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

struct Twice {
  Store<float> out;
  static constexpr const char* name = "twice";
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
    tile.store(out, 2.0f * tile.accumulator());
  }
};

struct Never {
  Store<float> out, other;
  static constexpr const char* name = "never";
  static constexpr auto port_names = names("out", "other");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

struct Foreign {
  PerColumn<const float> bias;
  Store<float> out;
  static constexpr const char* name = "foreign";
  static constexpr auto port_names = names("bias", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const PerColumn<const float> copy = bias;
    tile.store(out, tile.accumulator() + tile.load(copy));
  }
};

template <bool kStoresFirst>
struct Late {
  PerElement<const float> up;
  RowReduce<Sum> sums;
  Store<float> out;
  static constexpr const char* name = "late";
  static constexpr auto port_names = names("up", "sums", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    tile.reduce(sums, z);
    if (kStoresFirst) tile.store(out, z);
    const auto u = tile.load(up);
    if (!kStoresFirst) tile.store(out, z * u);
  }
};

struct NotANumber {
  RowReduce<Max> top;
  static constexpr const char* name = "not_a_number";
  static constexpr auto port_names = names("top");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(top, std::numeric_limits<float>::quiet_NaN());
  }
};

TEST(Trace, RefusesWhatNoProgramMeans) {
  expect_refused([] { run(Twice{}); }, "twice: output 'out' is written twice, at ");
  expect_refused([] { run(Never{}); }, "never: output 'other' is never written");
  expect_refused([] { run(Foreign{}); }, "this port is no member of the program");
  expect_refused([] { run(NotANumber{}); }, "'top' is given NaN");
  expect_refused([] { run(Late<true>{}); }, "'up' is loaded after the store at ");
  EXPECT_NO_THROW(run(Late<false>{}));
}

TEST(Derive, RefusesNamesAndReductionsWithoutAGradient) {
  const Graph graph = run(Squares{});
  expect_refused([&] { derive(graph); }, "does not say its gradient; give it pull_back");
  expect_refused([&] { derive(graph, {.accumulator = "dsquares"}); },
                 "the accumulator cannot be 'dsquares'");
  expect_refused([&] { derive(graph, {.outputs = {"out"}, .gradients = {"out"}}); },
                 "'out' has no gradient");
  expect_refused([&] { derive(graph, {.outputs = {"bias"}}); }, "'bias' is an input");
  expect_refused([&] { derive(graph, {.outputs = {"nothing"}}); }, "has no port 'nothing'");
  expect_refused([&] { derive(graph, {.outputs = {"out"}, .saved = {"bias"}}); },
                 "'bias' is no Store port");
}

struct Gated {
  PerElement<const float> up;
  Store<float> out;
  static constexpr const char* name = "gated";
  static constexpr auto port_names = names("up", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, silu(tile.accumulator()) * tile.load(up));
  }
};

TEST(Derive, TheAccumulatorIsSavedWhereNothingElseGivesIt) {
  const Derived derived = derive(run(Gated{}));
  ASSERT_EQ(derived.saved.size(), 1u);
  EXPECT_EQ(derived.saved[0].port, "accumulator");
  EXPECT_FALSE(derived.saved[0].stored);
  const Derived again = derive(run(Gated{}), {.accumulator = "forward"});
  EXPECT_TRUE(again.saved.empty());
}

}  // namespace
}  // namespace coda::trace
