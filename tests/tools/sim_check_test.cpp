// Every kernel of the catalogue in the simulator: each operation, tile configuration, pair of
// majors and set of optional ports that has a kernel, on cases of its own, three schedules each.
#include "coda/tools/sim_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "coda/catalogue/linear_swiglu_reference.h"
#include "coda/core/error.h"
#include "coda/plan/grid.h"
#include "coda/sim/thread.h"
#include "tests/tools/segmented.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::SimulatedProgram;
using catalogue::Variant;

constexpr int kCases = 8, kSeeds = 3;

std::string all_of(const CheckResult& result) {
  std::string text;
  for (const std::string& failure : result.failures) text += failure + "\n";
  return text;
}

// One cluster takes them all: its consumers hand over several times and its ring of stages wraps.
bool has_many_tiles(const plan::KernelEntry& kernel, const Case& c) {
  const kernel::Grid grid = plan::make_grid(c.problem, kernel.config, kernel.accumulators, 1);
  return grid.tiles >= 4 && grid.depth_blocks > 0;
}

// What all cases together have to have.
class Coverage {
 public:
  void add(const Case& c) {
    const Problem& p = c.problem;
    seen_["K = 0"] += p.K() == 0;
    seen_["one k-block"] += p.K() > 0 && p.K() <= kernel::kBlockDepth && p.contraction.count == 1;
    seen_["nothing to write"] += p.M() == 0 || p.N() == 0;
    seen_["one row"] += p.M() == 1;
    seen_["one column"] += p.N() == 1;
    seen_["M cut"] += c.axis == Axis::kRows;
    seen_["N cut"] += c.axis == Axis::kColumns;
    seen_["K cut"] += c.axis == Axis::kContraction;
    seen_["integers"] += c.data == Data::kIntegers;
    seen_["in place"] += !c.in_place_input.empty();
  }
  void expect_all() const {
    for (const auto& [what, count] : seen_) EXPECT_GE(count, 3) << what;
  }
  uint64_t next_seed() { return ++seed_; }

 private:
  std::map<std::string, int> seen_;
  uint64_t seed_ = 0;
};

std::vector<Case> draw_cases(uint64_t seed, const Variant& variant, const CheckBackend& backend) {
  std::vector<Case> cases;
  for (int i = 0; i < kCases; ++i) {
    cases.push_back(make_case(case_number(seed, i), variant, backend.rules));
  }
  return cases;
}

// Cases drawn for one kernel, at least two of them with many tiles.
void check_kernel(const Operation& operation, const Variant& variant, const SimCheck& options,
                  Coverage& coverage) {
  const plan::KernelEntry& kernel = options.find(variant)->kernels()[*options.kernel];
  const CheckBackend backend = sim_backend(options);
  uint64_t seed = 0;
  std::vector<Case> cases;
  const auto many_tiles = [&](const Case& c) { return has_many_tiles(kernel, c); };
  do {
    seed = coverage.next_seed();
    cases = draw_cases(seed, variant, backend);
  } while (std::ranges::count_if(cases, many_tiles) < 2);
  for (const Case& c : cases) coverage.add(c);
  const Operation* const operations[] = {&operation};
  const CheckResult result =
      check(operations, {.backend = "sim", .cases = kCases, .seed = seed, .variant = variant.name},
            backend);
  EXPECT_EQ(result.failed, 0) << all_of(result);
  EXPECT_EQ(result.passed, kCases);
}

void check_kernels(const Operation& operation, SimCheck options, Coverage& coverage,
                   std::set<std::string>& configs) {
  for (const Variant& variant : operation.variants) {
    const SimulatedProgram* program = options.find(variant);
    if (program == nullptr) continue;
    for (size_t i = 0; i < program->kernels().size(); ++i) {
      const plan::KernelEntry& kernel = program->kernels()[i];
      if (kernel.operand != variant.operand) continue;
      SCOPED_TRACE(fmt::format("{} {} kernel {}", operation.name, variant.name, i));
      options.kernel = i;
      check_kernel(operation, variant, options, coverage);
      configs.insert(plan::config_name(kernel.config));
    }
  }
}

TEST(SimCheck, EveryKernelOfTheCatalogue) {
  Coverage coverage;
  std::set<std::string> configs;
  for (const Operation* operation : catalogue::operations()) {
    check_kernels(*operation, {.seeds = kSeeds}, coverage, configs);
  }
  coverage.expect_all();
  EXPECT_EQ(configs.size(), std::size(kernel::kTileConfigs));
}

TEST(SimCheck, SegmentedPortsStatesAndColumnSums) {
  const SimulatedProgram program = catalogue::simulated<Segmented>();
  Coverage coverage;
  std::set<std::string> configs;
  check_kernels(segmented_operation(DType::kBf16),
                {.seeds = kSeeds, .find = [&](const Variant&) { return &program; }}, coverage,
                configs);
  EXPECT_EQ(configs.size(), 2u);
}

TEST(SimCheck, WrongProgramIsReported) {
  using Wrong = SwappedSwiglu;
  const SimulatedProgram program = catalogue::simulated<Wrong>();
  const Operation operation{.name = "wrong",
                            .formula = "",
                            .summary = "",
                            .variants = {catalogue::variant<Wrong>("only", DType::kBf16)},
                            .reference = &catalogue::linear_swiglu_reference,
                            .exact = {"gate", "up"}};
  const SimCheck options{.seeds = 2, .kernel = 0, .find = [&](const Variant&) { return &program; }};
  const Operation* const operations[] = {&operation};
  const CheckBackend backend = sim_backend(options);
  const CheckResult result = check(operations, {.backend = "sim", .cases = 10}, backend);
  EXPECT_GE(result.failed, 5);
  ASSERT_FALSE(result.failures.empty());
  const std::string command =
      "coda check wrong --variant only --backend sim --seeds 2 --kernel 0 --slices 1 --case ";
  const std::string& failure = result.failures[0];
  ASSERT_TRUE(failure.starts_with(command)) << failure;
  const CheckResult again =
      check(operations, {.only_case = std::stoull(failure.substr(command.size()))}, backend);
  EXPECT_EQ(again.failures, std::vector{failure});
}

// Instead of its kernel, one that breaks a rule.
void enqueue_trap(const catalogue::Call&, const sim::Target& target) {
  target.stream.push_back({.threads = 32, .kernel = [] { sim::trap(); }});
}

TEST(SimCheck, BrokenRuleIsReported) {
  const Operation& linear = catalogue::find_operation("linear");
  const SimulatedProgram trap{typeid(void), &enqueue_trap,
                              find_simulated(linear.variants[0])->kernels};
  const SimCheck options{.seeds = 1, .kernel = 0, .find = [&](const Variant&) { return &trap; }};
  const Operation* const operations[] = {&linear};
  const CheckResult result =
      check(operations, {.backend = "sim", .cases = 10, .variant = "bf16"}, sim_backend(options));
  EXPECT_GE(result.failed, 5);
  const std::string place = "sim: trap: tests/tools/sim_check_test.cpp:";
  EXPECT_NE(all_of(result).find(place), std::string::npos) << all_of(result);
}

TEST(SimCheck, UnknownKernelIsAnError) {
  EXPECT_THROW(check(catalogue::operations(), {.backend = "sim", .kernel = 1000}), Error);
}

}  // namespace
}  // namespace coda::tools
