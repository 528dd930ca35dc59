// `coda check` finds mistakes of an operation that draws its own cases: out += 2·x, with one
// mistake at a time.
#include <gtest/gtest.h>

#include "coda/catalogue/row_operation.h"
#include "coda/tools/check.h"

namespace coda::tools {
namespace {

using catalogue::Call;
using catalogue::DrawnCase;
using catalogue::DrawRequest;
using catalogue::Operation;
using catalogue::Values;

enum class Mistake { kNone, kValue, kLeftOut, kBeside, kInput, kNotTheSame, kNotAdded };

reference::Arrays formula(const reference::Arrays& in, const reference::Rounding& round) {
  return {{"out", round.as("out", in.at("out") + in.at("x") + in.at("x"))}};
}

DrawnCase draw(const DrawRequest& request) {
  const int64_t rows = request.random.between(1, 9), columns = request.random.between(2, 40);
  const Values values = request.integers ? Values::integer(-9, 9) : Values::normal();
  DrawnCase drawn;
  drawn.inputs = {{"x", rows, columns, values}, {"out", rows, columns, values}};
  drawn.outputs = {{"out", rows, columns}};
  return drawn;
}

template <Mistake kMistake>
void run(const Call& call, const cpu::Options&) {
  static int runs = 0;
  ++runs;
  const TensorView &x = call.arguments[0].tensors[0], &out = call.arguments[1].tensors[0];
  auto* const from = static_cast<float*>(const_cast<void*>(x.data));
  auto* const to = static_cast<float*>(const_cast<void*>(out.data));
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      if (kMistake == Mistake::kLeftOut && i == 0 && j == 1) {
        to[j] = 0;
        continue;
      }
      const float before = kMistake == Mistake::kNotAdded ? 0 : to[i * out.ld + j];
      to[i * out.ld + j] = before + (kMistake == Mistake::kValue ? 2.001f : 2) * from[i * x.ld + j];
    }
  }
  if (kMistake == Mistake::kBeside) to[-1] = 0;
  if (kMistake == Mistake::kInput) from[0] += 1;
  if (kMistake == Mistake::kNotTheSame) to[0] *= 1 + 1e-7f * static_cast<float>(runs % 3);
}

template <Mistake kMistake>
CheckResult check_mistake() {
  catalogue::Variant variant;
  variant.name = "only";
  variant.operand = DType::kFp32;
  variant.program = {
      .name = "twice",
      .ports = {catalogue::tensor_in("x", "[M, N]", DType::kFp32),
                catalogue::updated(catalogue::tensor_out("out", "[M, N]", DType::kFp32))}};
  variant.run_cpu = &run<kMistake>;
  variant.draw = &draw;
  const Operation operation{.name = "twice",
                            .formula = "out += 2·x",
                            .summary = "",
                            .variants = {variant},
                            .reference = &formula,
                            .exact = {"out"},
                            .has_operands = false};
  const Operation* const operations[] = {&operation};
  return check(operations, {.cases = 20, .isas = {cpu::default_isa()}});
}

TEST(DrawnCheck, PassesWithoutMistake) {
  const CheckResult result = check_mistake<Mistake::kNone>();
  EXPECT_EQ(result.passed, 20);
  EXPECT_EQ(result.failed, 0) << result.failures[0];
}

TEST(DrawnCheck, FindsMistakes) {
  EXPECT_EQ(check_mistake<Mistake::kValue>().passed, 0);
  EXPECT_GT(check_mistake<Mistake::kLeftOut>().failed, 10);
  EXPECT_EQ(check_mistake<Mistake::kBeside>().passed, 0);
  EXPECT_EQ(check_mistake<Mistake::kInput>().passed, 0);
  EXPECT_GT(check_mistake<Mistake::kNotTheSame>().failed, 10);
  EXPECT_GT(check_mistake<Mistake::kNotAdded>().failed, 15);
}

TEST(DrawnCheck, SaysWhatTheCaseIs) {
  const std::string failure = check_mistake<Mistake::kBeside>().failures.at(0);
  EXPECT_NE(failure.find("coda check twice --variant only"), std::string::npos) << failure;
  EXPECT_NE(failure.find("in x["), std::string::npos) << failure;
  EXPECT_NE(failure.find("before it overwritten"), std::string::npos) << failure;
}

}  // namespace
}  // namespace coda::tools
