// Kernels with one instruction dropped or weakened, in the simulator. Each runs behind a launch
// that makes its A, so that a dependency that is not waited for shows too.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coda/tools/check_call.h"
#include "coda/tools/produced_operand.h"
#include "tests/tools/segmented.h"

namespace coda::tools {

// What a kernel is run on.
struct MutatedProblem {
  std::string name;
  const catalogue::Variant& variant;
  const catalogue::SimulatedProgram& program;
  size_t kernel;  // of the program's manifest
  int64_t M, N, K;
};

class MutatedKernel {
 public:
  explicit MutatedKernel(const MutatedProblem& problem)
      : problem_(problem),
        kernel_(problem.program.kernels()[problem.kernel]),
        case_(make_integer_case(problem, kernel_)),
        in_(draw_inputs(case_, problem.variant, 0)),
        call_(case_, problem.variant, in_) {
    call_.reset();
    std::vector<sim::Launch> alone;
    problem.program.enqueue(call_.call(), {alone, kMultiprocessors, &kernel_});
    report_ = sim::run_stream(alone, {.seed = 1});
    expected_ = call_.output_bytes();
    EXPECT_EQ(call_.damage(), "") << problem.name;
  }

  const std::string& name() const { return problem_.name; }

  // Of every instruction that the kernel reaches, but for wgmma_fence: the simulator asks for it by
  // rule, and has no registers that would be wrong without.
  std::vector<sim::Mutation> mutations() const {
    std::vector<sim::Mutation> result;
    for (const sim::SiteVisits& entry : report_.sites) {
      if (entry.site.instruction == "wgmma_fence") continue;
      for (const sim::MutationKind kind : mutations_of(entry.site)) {
        result.push_back({entry.site, kind});
      }
    }
    return result;
  }

  // How it is noticed within a few schedules: a failure, or other results; or nothing.
  std::string caught(sim::Mutation mutation) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      try {
        if (run(seed, mutation) != expected_) return "other results";
      } catch (const sim::Failure& failure) {
        return failure.what();
      }
    }
    return "";
  }

  bool right_without_mutation() {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      if (run(seed, {}) != expected_) return false;
    }
    return true;
  }

 private:
  static constexpr uint64_t kSeeds = 6;
  static constexpr int kMultiprocessors = 2;
  static constexpr int64_t kParts = 3;  // of values that are finished from partials

  // Small integers, so that the order of sums does not matter.
  static Case make_integer_case(const MutatedProblem& problem, const plan::KernelEntry& kernel) {
    const auto major = [](kernel::OperandMajor of) {
      return of == kernel::OperandMajor::kContraction ? Major::kRow : Major::kColumn;
    };
    Case c;
    const auto& ports = problem.variant.program.ports;
    const bool cut = std::ranges::max(ports, {}, &PortView::segments).segments > 1;
    if (cut) c.axis = Axis::kColumns;
    c.problem.rows = {1, {0, problem.M}};
    c.problem.columns = cut ? Segments{3, {0, 64, 64, problem.N}} : Segments{1, {0, problem.N}};
    c.problem.contraction = {1, {0, problem.K}};
    c.data = Data::kIntegers;
    c.parts = kParts;
    c.alignment = 16;
    c.major_a = major(kernel.a);
    c.major_b = major(kernel.b);
    for (size_t i = 0; i < ports.size(); ++i) {
      const bool may_miss = ports[i].optional || ports[i].choices > 0;
      if (may_miss && (kernel.given >> i & 1) == 0) continue;
      c.given.insert(ports[i].name);
      if (ports[i].kind == PortKind::kScalar) c.numbers[ports[i].name] = 1;
    }
    for (const std::string& name : problem.variant.parameters) {
      if (!c.given.contains(name.substr(0, name.find('.')))) continue;
      c.numbers[name] = name.ends_with(".epsilon") ? 0 : static_cast<double>(kParts);
    }
    return c;
  }

  // The outputs' bytes; throws sim::Failure.
  std::vector<std::byte> run(uint64_t seed, std::optional<sim::Mutation> mutation) {
    call_.reset();
    std::vector<sim::Launch> stream;
    ProducedOperand a(call_.call().a, stream, kMultiprocessors);
    problem_.program.enqueue(call_.call(), {stream, kMultiprocessors, &kernel_});
    a.forget();
    if (mutation) mutation->launch = static_cast<int>(stream.size()) - 1;
    sim::run_stream(
        stream,
        {.seed = seed, .mutation = mutation, .max_switches = 100 * report_.switches + 1000000});
    return call_.output_bytes();
  }

  const MutatedProblem problem_;
  const plan::KernelEntry& kernel_;
  const Case case_;
  const reference::Arrays in_;
  CheckedCall call_;
  sim::Report report_;
  std::vector<std::byte> expected_;
};

}  // namespace coda::tools
