// The check harness itself: right programs pass, each kind of mistake is reported for what it is.
#include "coda/tools/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coda/catalogue/linear.h"
#include "coda/catalogue/linear_reference.h"
#include "coda/catalogue/linear_residual_norm_reference.h"
#include "coda/catalogue/linear_swiglu_reference.h"
#include "coda/core/error.h"
#include "tests/tools/segmented.h"

namespace coda::tools {
namespace {

using catalogue::Call;
using catalogue::Operation;
using catalogue::Variant;
using reference::Array;
using reference::Arrays;
using reference::Rounding;

CheckResult check_one(const Operation& operation, int cases, bool all_isas = false) {
  CheckOptions options{.cases = cases, .seed = 7};
  if (!all_isas) options.isas = {cpu::default_isa()};
  const Operation* const operations[] = {&operation};
  return check(operations, options);
}

std::string all_of(const CheckResult& result) {
  std::string text;
  for (const std::string& failure : result.failures) text += failure + "\n";
  return text;
}

void expect_passes(const Operation& operation, int cases) {
  const CheckResult result = check_one(operation, cases, true);
  EXPECT_EQ(result.failed, 0) << all_of(result);
  EXPECT_EQ(result.passed, cases);
}

// At least `least` of 40 cases fail, some of them with this text.
void expect_reported(const Operation& operation, int least, const std::string& text) {
  const CheckResult result = check_one(operation, 40);
  EXPECT_EQ(result.passed + result.failed, 40);
  EXPECT_GE(result.failed, least);
  EXPECT_NE(all_of(result).find(text), std::string::npos) << all_of(result);
}

template <class T, Mistake kMistake>
Operation swiglu() {
  return {.name = "wrong",
          .formula = "",
          .summary = "",
          .variants = {catalogue::variant<Swiglu<T, kMistake>>("only", dtype_of<T>)},
          .reference = &catalogue::linear_swiglu_reference,
          .exact = {"gate", "up"}};
}

template <class T, Mistake kMistake>
Operation residual_norm() {
  return {.name = "wrong",
          .formula = "",
          .summary = "",
          .variants = {catalogue::variant<ResidualNorm<T, kMistake>>("only", dtype_of<T>)},
          .reference = &catalogue::linear_residual_norm_reference,
          .exact = {"out", "squares"}};
}

// linear in fp32, run by something that is not quite the executor.
Operation linear_run_by(void (*run)(const Call&, const cpu::Options&)) {
  Variant variant = catalogue::variant<catalogue::Linear<float>>("only", DType::kFp32);
  variant.run_cpu = run;
  return {.name = "wrong",
          .formula = "",
          .summary = "",
          .variants = {variant},
          .reference = &catalogue::linear_reference,
          .exact = {"out"}};
}

void run_linear(const Call& call, const cpu::Options& options) {
  cpu::run(coda::bind<catalogue::Linear<float>>(call.arguments), call.a, call.b, options);
}

float* output_of(const Call& call) {
  const Argument* out = find_argument(call.arguments, "out");
  return const_cast<float*>(static_cast<const float*>(out->tensors[0].data));
}

TEST(Check, RightProgramsPass) {
  for (const Operation* operation : catalogue::operations()) expect_passes(*operation, 24);
  expect_passes(swiglu<bf16, Mistake::kNone>(), 12);
  expect_passes(residual_norm<float, Mistake::kNone>(), 12);
}

TEST(Check, SegmentsStatesAndIntegersPass) { expect_passes(segmented_operation(DType::kFp32), 40); }

Arrays head_norm_reference(const Arrays& in, const Rounding& round) {
  const Array a = round(round.matmul(in.at("A"), in.at("B.first")));
  const Array b = round(round.matmul(in.at("A"), in.at("B.second")));
  const auto half = static_cast<int64_t>(in.at("head_dim")(0, 0)) / 2;
  Array out(a.rows, 2 * a.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t head = 0; head < a.columns; head += half) {
      double squares = 0;
      for (int64_t j = head; j < head + half; ++j) squares += a(i, j) * a(i, j) + b(i, j) * b(i, j);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(2 * half) + 0.01f);
      for (int64_t j = 0; j < half; ++j) {
        out(i, 2 * head + j) = a(i, head + j) * scale;
        out(i, 2 * head + half + j) = b(i, head + j) * scale;
      }
    }
  }
  return {{"out", round.as("out", round(out) * in.at("weight"))}};
}

TEST(Check, HeadsPass) {
  expect_passes({.name = "head_norm",
                 .formula = "",
                 .summary = "",
                 .variants = {catalogue::variant<HeadNorm>("only", DType::kBf16)},
                 .reference = &head_norm_reference,
                 .exact = {}},
                40);
}

TEST(Check, WrongEpiloguesAreReported) {
  expect_reported(swiglu<bf16, Mistake::kSwapped>(), 25, "out[");
  expect_reported(residual_norm<float, Mistake::kNoResidual>(), 25, "out[");
  expect_reported(residual_norm<float, Mistake::kNextColumn>(), 12, "out[");
  expect_reported(residual_norm<bf16, Mistake::kRoundedSquares>(), 1, "squares[");
  expect_reported(residual_norm<float, Mistake::kPadding>(), 20, "squares[");
  expect_reported(residual_norm<float, Mistake::kBeyond>(), 25, "overwritten");
  expect_reported(residual_norm<float, Mistake::kInaccurate>(), 12, "RMS");
}

TEST(Check, UnwrittenOutputIsReported) {
  expect_reported(linear_run_by([](const Call& call, const cpu::Options& options) {
                    Call shorter = call;
                    // All but the last row.
                    if (call.a.segments == 1 && call.a.part[0][0].rows > 0) {
                      --shorter.a.part[0][0].rows;
                      for (Argument& argument : shorter.arguments) {
                        const bool matrix = argument.name == "c" || argument.name == "out";
                        if (matrix) --argument.tensors[0].rows;
                      }
                    }
                    run_linear(shorter, options);
                  }),
                  12, "not written");
}

TEST(Check, ChangedInputIsReported) {
  expect_reported(linear_run_by([](const Call& call, const cpu::Options& options) {
                    run_linear(call, options);
                    const TensorView& a = call.a.part[0][0];
                    if (!a.empty()) *static_cast<float*>(const_cast<void*>(a.data)) = 7;
                  }),
                  25, "the input was changed");
}

TEST(Check, BitsThatDependOnThreadsAreReported) {
  expect_reported(linear_run_by([](const Call& call, const cpu::Options& options) {
                    run_linear(call, options);
                    float* out = output_of(call);
                    if (out != nullptr && options.threads == 1) *out = std::nextafter(*out, 9.0f);
                  }),
                  20, "differs in bits");
}

TEST(Check, RefusalIsReported) {
  expect_reported(
      linear_run_by([](const Call&, const cpu::Options&) { throw Error("no such luck"); }), 40,
      "refused: no such luck");
}

TEST(Check, FailureNamesTheCommandThatRepeatsIt) {
  const Operation operation = swiglu<bf16, Mistake::kSwapped>();
  const CheckResult result = check_one(operation, 5);
  ASSERT_FALSE(result.failures.empty());
  const std::string& failure = result.failures[0];
  const std::string isa = cpu::isa_name(cpu::default_isa());
  const std::string command = "coda check wrong --variant only --isa " + isa + " --case ";
  ASSERT_TRUE(failure.starts_with(command)) << failure;
  const uint64_t number = std::stoull(failure.substr(command.size()));
  const CheckResult again =
      check(std::vector{&operation},
            {.isas = {cpu::default_isa()}, .variant = "only", .only_case = number});
  EXPECT_EQ(again.failures, std::vector{failure});
}

TEST(Check, FormulaThatThrowsIsReportedAtItsFile) {
  Operation operation = linear_run_by(&run_linear);
  operation.file = "folder/wrong.h";
  operation.reference = [](const Arrays& in, const Rounding&) -> Arrays {
    return {{"out", in.at("bais")}};
  };
  const CheckResult result = check_one(operation, 3);
  EXPECT_EQ(result.failed, 3);
  const std::string text = all_of(result);
  EXPECT_TRUE(text.starts_with("coda check folder/wrong.h --variant only")) << text;
  EXPECT_NE(text.find("wrong_formula.h: reference: there is no 'bais', only A, B"),
            std::string::npos)
      << text;
  operation.reference = [](const Arrays&, const Rounding&) -> Arrays {
    throw std::out_of_range("no such thing");
  };
  expect_reported(operation, 40, "wrong_formula.h: no such thing");
}

TEST(Check, UnknownNamesAreErrors) {
  EXPECT_THROW(check(catalogue::operations(), {.backend = "abacus"}), Error);
  EXPECT_THROW(check(catalogue::operations(), {.variant = "bf17"}), Error);
}

TEST(Check, VariantOfSomeOperationsSkipsTheOthers) {
  const CheckResult result = check(
      catalogue::operations(), {.cases = 1, .isas = {cpu::default_isa()}, .variant = "bf16-norm"});
  EXPECT_EQ(result.passed + result.failed, 1);
}

}  // namespace
}  // namespace coda::tools
