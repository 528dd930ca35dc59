// What cross-entropy refuses, before anything is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "coda/core/error.h"
#include "cross_entropy_fixture.h"

namespace coda::catalogue {
namespace {

void expect_refused(CrossEntropyFixture& f, const std::function<void()>& call,
                    const std::string& message) {
  const auto untouched = [&] {
    for (const auto* values : {&f.loss, &f.dweight, &f.dx, &f.dx_sum, &f.logits}) {
      for (const float v : *values) {
        if (!std::isnan(v)) return false;
      }
    }
    return true;
  };
  try {
    call();
    FAIL() << "expected an error: " << message;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
  EXPECT_TRUE(untouched()) << message;
}

TEST(CrossEntropyEdges, BadTargets) {
  for (const int64_t bad : {int64_t{-1}, int64_t{130}, int64_t{1} << 40, int64_t{-99}}) {
    CrossEntropyFixture f(3, 130, 8);
    f.target[1] = bad;
    const std::string message =
        "argument 'target': expected columns from 0 to 129, or ignore_index"
        " = -100, got " +
        std::to_string(bad) + " at 1";
    expect_refused(f, [&] { f.forward(); }, message);
    expect_refused(f, [&] { f.with_gradients(); }, message);
    expect_refused(f, [&] { f.recompute(); }, message);
    expect_refused(f, [&] { f.backward(); }, message);
  }
  CrossEntropyFixture f(3, 130, 8);
  f.target[1] = -1;
  f.problem.options.ignore_index = -1;
  f.forward();
}

TEST(CrossEntropyEdges, BadArguments) {
  using Change = std::function<void(CrossEntropyFixture&)>;
  const Change forward = [](CrossEntropyFixture& f) { f.forward(); };
  const Change with_gradients = [](CrossEntropyFixture& f) { f.with_gradients(); };
  const Change recompute = [](CrossEntropyFixture& f) { f.recompute(); };
  const Change backward = [](CrossEntropyFixture& f) { f.backward(); };
  const struct {
    const char* message;
    Change change, call;
  } cases[] = {
      {"'smoothing': expected a number from 0 to below 1, got 1",
       [](CrossEntropyFixture& f) { f.problem.options.smoothing = 1; }, forward},
      {"'smoothing'", [](CrossEntropyFixture& f) { f.problem.options.smoothing = -0.5f; }, forward},
      {"'soft_cap': expected 0 (none) or a positive number, got -1",
       [](CrossEntropyFixture& f) { f.problem.options.soft_cap = -1; }, forward},
      {"'soft_cap'",
       [](CrossEntropyFixture& f) {
         f.problem.options.soft_cap = std::numeric_limits<float>::quiet_NaN();
       },
       forward},
      {"'z_loss': expected 0 or a positive number, got inf",
       [](CrossEntropyFixture& f) { f.problem.options.z_loss = INFINITY; }, forward},
      {"'weight': expected [130, 8], got [130, 7]",
       [](CrossEntropyFixture& f) { f.problem.weight.columns = 7; }, forward},
      {"'weight': expected a row for each of at least one class, got none",
       [](CrossEntropyFixture& f) { f.problem.weight.rows = 0; }, forward},
      {"'weight': expected a row-major tensor, got a column-major one",
       [](CrossEntropyFixture& f) { f.problem.weight.major = Major::kColumn; }, forward},
      {"'x': expected 24 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.problem.x.data = nullptr; }, forward},
      {"'x': expected a leading dimension of at least 8, got 4",
       [](CrossEntropyFixture& f) { f.problem.x.ld = 4; }, forward},
      {"'target': expected 3 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.problem.target = nullptr; }, forward},
      {"'lse': expected 3 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.outputs.lse = nullptr; }, forward},
      {"'loss': expected 1 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.outputs.loss = nullptr; }, with_gradients},
      {"'logits': expected [3, 130], got [3, 129]",
       [](CrossEntropyFixture& f) { f.kept.columns = 129; }, forward},
      {"'workspace': expected at least 512 bytes, got 511",
       [](CrossEntropyFixture& f) { f.workspace.bytes = 511; }, forward},
      {"'workspace': expected at least 512 bytes, got a null pointer",
       [](CrossEntropyFixture& f) { f.workspace.data = nullptr; }, forward},
      {"'workspace': expected memory aligned to 256 bytes",
       [](CrossEntropyFixture& f) {
         f.workspace.data = static_cast<std::byte*>(f.workspace.data) + 16;
       },
       forward},
      {"'lse': expected memory apart from 'workspace', got an overlap",
       [](CrossEntropyFixture& f) { f.outputs.lse = static_cast<float*>(f.workspace.data); },
       forward},
      {"'logits': expected memory apart from 'weight', got an overlap",
       [](CrossEntropyFixture& f) { f.kept.data = f.weight.data(); }, forward},
      {"'loss': expected memory apart from 'lse', got an overlap",
       [](CrossEntropyFixture& f) { f.outputs.loss = f.outputs.lse; }, forward},
      {"'lse': expected memory apart from 'x', got an overlap",
       [](CrossEntropyFixture& f) { f.outputs.lse = f.x.data(); }, with_gradients},
      {"'dx': expected memory apart from 'x', got an overlap",
       [](CrossEntropyFixture& f) { f.gradients.dx.data = f.x.data(); }, with_gradients},
      {"'dweight': expected memory apart from 'dx', got an overlap",
       [](CrossEntropyFixture& f) { f.gradients.dx.data = f.dweight.data(); }, with_gradients},
      {"'dx_sum': expected memory apart from 'weight', got an overlap",
       [](CrossEntropyFixture& f) { f.gradients.dx_sum.data = f.weight.data(); }, recompute},
      {"'dz': expected memory apart from 'weight', got an overlap",
       [](CrossEntropyFixture& f) { f.kept.data = f.weight.data(); }, backward},
      {"'chunk_rows': expected at least 1, got 0", [](CrossEntropyFixture&) {},
       [](CrossEntropyFixture& f) { f.with_gradients(0); }},
      {"'chunk_rows': expected at least 1, got -3", [](CrossEntropyFixture&) {},
       [](CrossEntropyFixture& f) { f.with_gradients(-3); }},
      {"'chunk_columns': expected a multiple of 128, at least that, got 0",
       [](CrossEntropyFixture&) {}, [](CrossEntropyFixture& f) { f.recompute(0); }},
      {"'chunk_columns': expected a multiple of 128, at least that, got 64",
       [](CrossEntropyFixture&) {}, [](CrossEntropyFixture& f) { f.recompute(64); }},
      {"'reduction': expected sum or mean where gradients are made during the forward",
       [](CrossEntropyFixture& f) { f.problem.options.reduction = LossReduction::kNone; },
       with_gradients},
      {"'dloss': expected 3 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.problem.options.reduction = LossReduction::kNone; },
       recompute},
      {"'dloss': expected 3 elements, got a null pointer",
       [](CrossEntropyFixture& f) { f.problem.options.reduction = LossReduction::kNone; },
       backward},
      {"'dweight': expected [130, 8], got [129, 8]",
       [](CrossEntropyFixture& f) { f.gradients.dweight.rows = 129; }, with_gradients},
      {"'dx': expected [3, 8], got [2, 8]", [](CrossEntropyFixture& f) { f.gradients.dx.rows = 2; },
       with_gradients},
      {"'dx_sum': expected [3, 8], got [3, 7]",
       [](CrossEntropyFixture& f) { f.gradients.dx_sum.columns = 7; }, recompute},
      {"'dweight': expected dweight, dx or both, got neither of them",
       [](CrossEntropyFixture& f) { f.gradients.dx = {}, f.gradients.dweight = {}; },
       with_gradients},
      {"'dweight': expected dweight, dx or both, got neither of them",
       [](CrossEntropyFixture& f) { f.gradients.dx_sum = {}, f.gradients.dweight = {}; },
       recompute},
      {"'dots': expected [1, 3], got [0, 0]",
       [](CrossEntropyFixture& f) {
         f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 3), {8, 0}};
       },
       with_gradients},
      {"'dots': expected [2, 3], got [0, 0]",
       [](CrossEntropyFixture& f) {
         f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 3), {8, 0}};
       },
       recompute},
      {"'rstd': expected [1, 3], got [1, 2]",
       [](CrossEntropyFixture& f) {
         f.problem.rstd = {Matrix<const float>(f.x.data(), 1, 2), {8, 0}};
       },
       forward},
      {"'dz': expected [3, 130], got [2, 130]", [](CrossEntropyFixture&) {},
       [](CrossEntropyFixture& f) {
         const Matrix<float> dz(f.logits.data(), 2, 130);
         cross_entropy_backward({}, f.problem, f.lse.data(), Matrix<const float>(f.kept), dz,
                                f.gradients, f.workspace);
       }},
  };
  for (const auto& bad : cases) {
    CrossEntropyFixture f(3, 130, 8);
    bad.change(f);
    expect_refused(f, [&] { bad.call(f); }, bad.message);
  }
}

// Of which the first GEMM would speak, behind a row operation.
TEST(CrossEntropyEdges, InstructionSetsThatAreNotThere) {
  CrossEntropyFixture f(3, 130, 8);
  const OnCpu where{{.isa = static_cast<cpu::Isa>(99)}};
  const auto backward = [&] {
    cross_entropy_backward(where, f.problem, f.lse.data(), Matrix<const float>(f.kept), f.kept,
                           f.gradients, f.workspace);
  };
  expect_refused(f, backward, "'isa': expected an instruction set that is available here");
}

}  // namespace
}  // namespace coda::catalogue
