// What derived programs are refused for, and what their ports are.
#include "coda/trace/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "coda/core/error.h"
#include "coda/trace/evaluate.h"
#include "coda/trace/print_cpp.h"
#include "coda/trace/run.h"

namespace coda::trace {

struct OutputO {
  Store<float> o;
  static constexpr const char* name = "output_o";
  static constexpr auto port_names = names("o");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(o, relu(tile.accumulator()));
  }
};

struct TwoSums {
  RowReduce<Moments> stats;
  RowReduce<Sum> stats_sum;
  static constexpr const char* name = "two_sums";
  static constexpr auto port_names = names("stats", "stats_sum");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(stats, tile.accumulator());
    tile.reduce(stats_sum, exp(tile.accumulator()));
  }
};

struct TwoFirsts {
  Paired<PerColumn<const float>> gamma;
  PerColumn<const float> gamma_first;
  Paired<Store<float>> out;
  static constexpr const char* name = "two_firsts";
  static constexpr auto port_names = names("gamma", "gamma_first", "out");
  static constexpr int accumulators = 2;
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto g = tile.load(gamma);
    tile.store(out, tile.accumulator(0) * g.first,
               tile.accumulator(1) * g.second * tile.load(gamma_first));
  }
};

struct Product {
  Paired<PerHead<const float>> gamma;
  Paired<Store<float>> out;
  Store<float> product;  // [M, N]: not paired
  static constexpr const char* name = "product";
  static constexpr auto port_names = names("gamma", "out", "product");
  static constexpr int accumulators = 2;
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto g = tile.load(gamma);
    const auto first = tile.accumulator(0) * g.first, second = tile.accumulator(1) * g.second;
    tile.store(out, first, second);
    tile.store(product, first * second);
  }
};

struct Normed {
  PerColumn<const float> bias;
  Store<float> out;
  RowReduce<Sum> sums;
  static constexpr const char* name = "normed";
  static constexpr auto port_names = names("bias", "out", "sums");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    tile.store(out, z + tile.load(bias));
    tile.reduce(sums, z * z);
  }
};

template <bool kTensor>
struct Masked {
  PerElement<const float> mask;
  Store<float> scores;
  RowReduce<Sum> sums;
  static constexpr const char* name = "masked";
  static constexpr auto port_names = names("mask", "scores", "sums");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto z = tile.accumulator();
    if (kTensor) {
      tile.store(scores, z + tile.load(mask));
    } else {  // causal
      constexpr float kNothing = -std::numeric_limits<float>::infinity();
      const auto bias = select(tile.column() <= tile.row(), 0.0f, kNothing);
      tile.store(scores, bias + (z + tile.load(mask)) * 0.5f);
    }
    tile.reduce(sums, z * z);
  }
};

struct Sloped {
  Scalar<bf16> slope;
  Store<bf16> out;
  static constexpr const char* name = "sloped";
  static constexpr auto port_names = names("slope", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(slope));
  }
};

namespace {

using reference::Array;
using reference::Arrays;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Run>
void expect_refused(Run&& run, const std::string& part) {
  try {
    run();
    FAIL() << "expected an error with: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

const PortView* port_of(const Graph& graph, const std::string& name) {
  const auto& ports = graph.program.ports;
  const auto found = std::ranges::find(ports, name, &PortView::name);
  return found == ports.end() ? nullptr : &*found;
}

TEST(Derive, RefusesNamesThatItsProgramCannotHave) {
  expect_refused([] { derive(run(OutputO{}), {.accumulator = "forward"}); },
                 "output_o: its backward program would have a port 'do', which is a word of C++");
  expect_refused([] { derive(run(TwoSums{})); }, "two meanings for a port 'dstats_sum'");
  expect_refused([] { derive(run(TwoFirsts{})); }, "two meanings for a port 'dgamma_first'");
}

TEST(Derive, InHalvesOfHeadsTheAccumulatorIsOfAPairedOutput) {
  const Graph graph = run(Product{});
  EXPECT_EQ(derive(graph).accumulator, "dout");
  EXPECT_EQ(derive(graph, {.outputs = {"product"}}).accumulator, "forward");
  expect_refused([&] { derive(graph, {.accumulator = "dproduct"}); },
                 "'d' and the name of a Paired Store port");
  const PortView* stored = port_of(derive(graph).graph, "daccumulator");
  ASSERT_NE(stored, nullptr);
  EXPECT_TRUE(stored->paired);
}

TEST(Derive, StoresOperandsOfTheGemmsBehindIt) {
  const Graph graph = run(Normed{});
  const auto type = [&](const DeriveOptions& options) {
    return port_of(derive(graph, options).graph, "daccumulator")->dtype;
  };
  EXPECT_EQ(type({}), DType::kFp32);  // of the last Store
  EXPECT_EQ(type({.operand = DType::kBf16}), DType::kBf16);
  EXPECT_EQ(type({.outputs = {"sums"}, .operand = DType::kBf16}), DType::kBf16);
}

TEST(Derive, SavesNothingWhereAskedTo) {
  const Graph graph = run(Normed{});
  const auto saved = [&](const DeriveOptions& options) { return derive(graph, options).saved; };
  ASSERT_EQ(saved({}).size(), 1u);
  EXPECT_EQ(saved({})[0].port, "out");  // z = out − bias
  EXPECT_EQ(saved({.saved = {"-"}})[0].port, "accumulator");
  EXPECT_TRUE(saved({.accumulator = "forward", .saved = {"-"}}).empty());
}

// z is no difference of scores and mask, which would be −∞ + ∞.
template <bool kTensor>
void expect_finite_behind_mask() {
  const Derived derived = derive(run(Masked<kTensor>{}));
  ASSERT_EQ(derived.saved.size(), 1u);
  EXPECT_EQ(derived.saved[0].port, "accumulator");
  Array mask(2, 2);
  mask(0, 1) = -kInfinity;
  const Arrays in{{"mask", mask},
                  {"scores", mask},
                  {"accumulator", Array(2, 2) + 3.0},
                  {"accumulator.0", Array(2, 2) + 1.0},
                  {"dsums", Array(1, 2) + 0.5}};
  const Array gradient = evaluate(derived.graph, in).at("daccumulator");
  EXPECT_EQ(gradient(0, 1), (kTensor ? 1.0 : 0.5) + 2 * 0.5 * 3);
}

TEST(Derive, RebuildsNothingFromBehindAMask) {
  expect_finite_behind_mask<true>();
  expect_finite_behind_mask<false>();
}

TEST(Derive, PrintsNumbersThatCppHas) {  // it has no literals of 16 bits
  const std::string text = print_cpp(derive(run(Sloped{})).graph, {"SlopedBackward", "", {}});
  EXPECT_NE(text.find("coda::Scalar<coda::bf16> slope; "), std::string::npos) << text;
}

}  // namespace
}  // namespace coda::trace
