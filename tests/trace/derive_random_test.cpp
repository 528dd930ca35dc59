// Derived programs of random ones against finite differences of the forward program, both as graphs
// in fp64.
#include <gtest/gtest.h>

#include "program_gradient.h"

namespace coda::trace {
namespace {

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

struct Counts {
  int compared = 0, kinks = 0, flowing = 0;
};

// Along a random direction of each input. "" where they agree.
std::string mismatch(uint64_t seed, Counts& counts) {
  const RandomProgram program = RandomProgramMaker(seed).make();
  const Graph& graph = program.graph;
  Random random(mix(seed, 1));
  DeriveOptions options = all_gradients(graph);
  Arrays weights;
  const Arrays out = evaluate(graph, program.in);
  std::vector<std::string> inputs;
  for (int i = 0; i < graph.program.accumulators; ++i) {
    inputs.push_back(fmt::format("accumulator.{}", i));
  }
  bool store = false;
  for (size_t p = 0; p < graph.program.ports.size(); ++p) {
    const PortView& port = graph.program.ports[p];
    if (!is_input(port.kind)) {
      weights[port.name] =
          map(finished_output(graph, p, out), [&](double) { return random.normal(); });
      store = store || port.kind == PortKind::kStore;
    } else if (port.dtype == DType::kFp32 && port.kind != PortKind::kPairTable) {
      inputs.push_back(port.name);
    }
  }
  if (!store || random.chance(0.3)) options.accumulator = "forward";
  const Derived derived = derive(graph, options);
  const Arrays gradients = evaluate(derived.graph, derived_inputs(program, derived, weights));
  for (const std::string& name : inputs) {
    const Array gradient = gradient_of(graph, name, program.in, gradients);
    const Array direction = map(program.in.at(name), [&](double) { return random.normal(); });
    const auto slope = [&](double step) {
      Arrays moved = program.in;
      moved[name] = program.in.at(name) + step * direction;
      const double up = loss(graph, moved, weights);
      moved[name] = program.in.at(name) - step * direction;
      return (up - loss(graph, moved, weights)) / (2 * step);
    };
    const double one = slope(1e-4), two = slope(5e-5), expected = (4 * two - one) / 3;
    const double scale = 1 + std::fabs(expected) + std::fabs(loss(graph, program.in, weights));
    // A kink lies within a step of a few inputs: there the two slopes differ.
    if (std::fabs(one - two) > 1e-5 * scale) {
      ++counts.kinks;
      continue;
    }
    ++counts.compared;
    const double got = dot(gradient, direction);
    counts.flowing += expected != 0;
    if (std::fabs(got - expected) > 1e-6 * scale) {
      return fmt::format("seed {}: of {}: derived {}, by differences {}", seed, name, got,
                         expected);
    }
  }
  return "";
}

TEST(DeriveRandom, GradientsAreFiniteDifferences) {
  constexpr int kPrograms = 2500;
  Counts counts;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) ASSERT_EQ(mismatch(seed, counts), "");
  fmt::print("{} gradients compared, {} of them not zero, {} beside a kink\n", counts.compared,
             counts.flowing, counts.kinks);
  EXPECT_GT(counts.flowing, 3 * kPrograms / 2);
  EXPECT_LT(counts.kinks, counts.compared / 50);
}

}  // namespace
}  // namespace coda::trace
