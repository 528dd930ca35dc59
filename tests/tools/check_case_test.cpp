// Cases: the same number gives the same case, every case is a valid call, and together they cover
// what they are meant to cover.
#include "coda/tools/check_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coda/tools/check_call.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::Variant;

constexpr uint64_t kNumbers = 400;

template <class F>
void for_each_case(F&& f) {
  for (const Operation* operation : catalogue::operations()) {
    for (const Variant& variant : operation->variants) {
      for (uint64_t number = 0; number < kNumbers; ++number) f(variant, make_case(number, variant));
    }
  }
}

TEST(CheckCase, FollowsFromItsNumber) {
  const Variant& variant = catalogue::find_operation("linear_swiglu").variants[0];
  for (uint64_t number = 0; number < 50; ++number) {
    const Case first = make_case(number, variant), second = make_case(number, variant);
    EXPECT_EQ(first.text(), second.text());
    const auto in = draw_inputs(first, variant, 0);
    if (first.data == Data::kSpecial) continue;  // a NaN is not equal to itself
    EXPECT_EQ(in, draw_inputs(second, variant, 0));
    const auto other = draw_inputs(first, variant, 1);
    EXPECT_TRUE(in.at("A").size() < 10 || in.at("A") != other.at("A"));
  }
}

TEST(CheckCase, CoversShapesStructureAndData) {
  std::map<std::string, int> seen;
  for_each_case([&](const Variant&, const Case& c) {
    const Problem& p = c.problem;
    seen["M = 0"] += p.M() == 0;
    seen["N = 0"] += p.N() == 0;
    seen["K = 0"] += p.K() == 0;
    seen["one row"] += p.M() == 1;
    seen["one column"] += p.N() == 1;
    seen["multiples"] += p.M() > 0 && p.N() > 0 && p.M() % 64 == 0 && p.N() % 64 == 0;
    seen["many rows"] += p.M() > 512;
    seen["many columns"] += p.N() > 768;
    seen["long"] += p.K() > 4096;
    seen["M cut"] += c.axis == Axis::kRows;
    seen["N cut"] += c.axis == Axis::kColumns;
    seen["K cut"] += c.axis == Axis::kContraction;
    seen["halves"] += p.head_dim != 0;
    seen["in place"] += !c.in_place_input.empty();
    seen["integers"] += c.data == Data::kIntegers;
    seen["special"] += c.data == Data::kSpecial;
    for (const std::string& name : c.given) ++seen[name];
  });
  for (const auto& [what, count] : seen) EXPECT_GE(count, 40) << what;
  int with_bias = 0;
  for_each_case([&](const Variant& variant, const Case&) {
    with_bias +=
        static_cast<int>(std::ranges::count(variant.program.ports, "bias", &PortView::name));
  });
  EXPECT_LT(seen["bias"], with_bias * 3 / 4);  // given by some, left out by others
}

// Neither on the CPU nor for a kernel that has only the usual way.
TEST(CheckCase, ChoiceWithoutADefaultIsNeverLeftOut) {
  Variant variant = catalogue::find_operation("linear_swiglu").variants[0];
  const auto choice = std::ranges::find(variant.program.ports, "activation", &PortView::name);
  ASSERT_NE(choice, variant.program.ports.end());
  choice->given = false;
  const plan::KernelEntry usual_only{.operand = variant.operand, .accumulators = 2};
  std::map<double, int> seen;
  for (const bool with_kernel : {false, true}) {
    CaseRules rules;
    if (with_kernel) rules.kernels = [&](const Variant&) { return std::span(&usual_only, 1); };
    for (uint64_t number = 0; number < 100; ++number) {
      const Case c = make_case(number, variant, rules);
      ASSERT_TRUE(c.given.contains("activation")) << number;
      ++seen[c.numbers.at("activation")];
    }
  }
  EXPECT_GT(seen[choice->usual], 50);
  EXPECT_GT(seen.size(), 1u);
}

TEST(CheckCase, SpecialValuesAreThere) {
  int with = 0, without = 0;
  for (uint64_t number = 0; number < kNumbers; ++number) {
    const Variant& variant = catalogue::find_operation("linear").variants[0];
    const Case c = make_case(number, variant);
    if (c.data != Data::kSpecial || c.problem.M() * c.problem.N() * c.problem.K() == 0) continue;
    bool found = false;
    for (const auto& [name, array] : draw_inputs(c, variant, 0)) {
      for (const double value : array.values) found = found || !std::isfinite(value);
    }
    ++(found ? with : without);
  }
  EXPECT_GT(with, 20);
  EXPECT_EQ(without, 0);
}

TEST(CheckCase, EveryCaseIsAValidCall) {
  for (const Operation* operation : catalogue::operations()) {
    const Variant& variant = operation->variants[0];
    for (uint64_t number = 0; number < 60; ++number) {
      const Case c = make_case(number, variant);
      const reference::Arrays in = draw_inputs(c, variant, 0);
      CheckedCall checked(c, variant, in);
      checked.reset();
      EXPECT_NO_THROW(variant.run_cpu(checked.call(), {.threads = 1})) << c.text();
      EXPECT_EQ(checked.damage(), "") << c.text();
    }
  }
}

TEST(CheckCase, OperandsInMemoryAreThoseOfTheFormula) {
  const Variant& variant = catalogue::find_operation("linear_swiglu").variants[2];  // fp32
  for (uint64_t number = 0; number < 300; ++number) {
    const Case c = make_case(number, variant);
    if (c.problem.head_dim == 0 || c.axis != Axis::kColumns || c.data == Data::kSpecial) continue;
    const reference::Arrays in = draw_inputs(c, variant, 0);
    const CheckedCall checked(c, variant, in);
    const OperandView& b = checked.call().b;
    const int64_t half = c.problem.head_dim / 2;
    for (int s = 0; s < b.segments; ++s) {
      const TensorView& view = b.part[0][s];
      for (int64_t row = 0; row < view.rows; ++row) {
        const auto& whole = in.at(row % (2 * half) < half ? "B.first" : "B.second");
        const int64_t i = c.problem.columns.begin[s] + row / (2 * half) * half + row % half;
        for (int64_t k = 0; k < view.columns; ++k) {
          const int64_t at = view.major == Major::kRow ? row * view.ld + k : k * view.ld + row;
          ASSERT_EQ(static_cast<const float*>(view.data)[at], whole(i, k)) << c.text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace coda::tools
