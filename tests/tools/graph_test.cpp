// Every GEMM program of the catalogue, traced and evaluated as a graph in fp64, against its
// formula, which was written without it: each checks the other. The cases are those of `coda
// check`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "coda/tools/meaning.h"
#include "coda/trace/evaluate.h"

namespace coda::tools {
namespace {

using reference::Arrays;

// Programs write √½ and √(8/π) as fp32 numbers: relative errors up to 2^-24, which the functions
// behind them carry on. Everything else is fp64 on both sides.
double tolerance(const catalogue::Variant& variant, const Arrays& in) {
  const auto& ports = variant.program.ports;
  const auto port = std::ranges::find(ports, "activation", &PortView::name);
  if (port == ports.end()) return 0x1p-40;
  const double activation = given_or(in, "activation", port->usual)(0, 0);
  return activation == 1 || activation == 2 ? 0x1p-22 : 0x1p-40;  // GELU, exact or by tanh
}

trace::Instance instance_of(const Case& c) { return {c.given, c.numbers}; }

TEST(Graph, EvaluatesToTheFormulaOfEveryProgram) {
  constexpr int kCases = 40;
  int outputs = 0;
  for (const catalogue::Operation* operation : catalogue::operations()) {
    if (!operation->has_operands) continue;
    for (const catalogue::Variant& variant : operation->variants) {
      ASSERT_NE(variant.trace, nullptr) << operation->name;
      for (int i = 0; i < kCases; ++i) {
        const Case c = make_case(case_number(1, i), variant);
        if (c.problem.M() * c.problem.N() * (c.problem.K() + 20) > 4'000'000) continue;
        const std::string repeat =
            fmt::format("{} {} case {}", operation->name, variant.name, c.number);
        const trace::Graph graph = variant.trace(instance_of(c));
        const Arrays in = draw_inputs(c, variant, 1);
        const Arrays expected = operation->reference(in, reference::Rounding());
        const Arrays got = trace::evaluate(graph, in);
        for (const auto& [name, array] : got) {
          ASSERT_TRUE(expected.contains(name)) << repeat << ": " << name;
          ASSERT_EQ(difference(array, expected.at(name), tolerance(variant, in)), "")
              << repeat << ": " << name;
          ++outputs;
        }
        ASSERT_FALSE(got.empty()) << repeat;
      }
    }
  }
  EXPECT_GT(outputs, 1000);
}

}  // namespace
}  // namespace coda::tools
