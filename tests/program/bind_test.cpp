// Programs filled in by port names: what lands where, and what is refused.
#include "coda/program/bind.h"

#include <gtest/gtest.h>

#include "tests/program/expect_error.h"

namespace coda {
namespace {

struct Bound {
  Scalar<float> alpha{1.0f};
  Scalar<int32_t> offset;
  PerRow<const int64_t> target;          // [M]
  Optional<PerColumn<const bf16>> bias;  // [N]
  PerRowFrom<ReciprocalRms> rstd;        // [parts, M]
  Store<bf16, 2> out;                    // [M, N0], [M, N1]
  RowReduce<LogSumExp> lse;              // [⌈N/64⌉, M]

  static constexpr const char* name = "bound";
  static constexpr auto port_names =
      names("alpha", "offset", "target", "bias", "rstd", "out", "lse");
};

class BindTest : public testing::Test {
 protected:
  int64_t target[5] = {};
  bf16 bias[7] = {}, out[2][35] = {};
  float squares[10] = {}, lse[10] = {}, number = 0.25f;
  int32_t integer = 9;

  Argument target_argument() { return {"target", {erase(Matrix(target, 1, 5))}}; }
  Argument out_argument() {
    return {"out", {erase(Matrix(out[0], 5, 3)), erase(Matrix(out[1], 5, 4, 7))}};
  }
  static void expect_refused(const std::vector<Argument>& arguments,
                             std::initializer_list<std::string> texts) {
    expect_error([&] { coda::bind<Bound>(arguments); }, texts);
  }
};

TEST_F(BindTest, NothingGivenLeavesTheDefaults) {
  const auto program = coda::bind<Bound>({});
  EXPECT_TRUE(program.alpha.given);
  EXPECT_EQ(program.alpha.get(), 1.0f);
  EXPECT_FALSE(program.target.given || program.bias.given || program.out.given);
  EXPECT_EQ(program.rstd.finish.epsilon, 0.0f);
}

TEST_F(BindTest, TensorsLandInTheirPorts) {
  const std::vector<Argument> arguments = {out_argument(), target_argument()};
  const auto program = coda::bind<Bound>(arguments);
  EXPECT_TRUE(program.target.given);
  EXPECT_EQ(program.target.view[0].data, target);
  EXPECT_EQ(program.target.view[0].columns, 5);
  EXPECT_TRUE(program.out.given);
  EXPECT_EQ(program.out.view[0].data, out[0]);
  EXPECT_EQ(program.out.view[1].data, out[1]);
  EXPECT_EQ(program.out.view[1].ld, 7);
  EXPECT_FALSE(program.bias.given);
}

TEST_F(BindTest, MajorIsKept) {
  const auto program =
      coda::bind<Bound>(std::vector<Argument>{{"bias", {erase(Matrix(bias, 7, 1).transposed())}}});
  EXPECT_EQ(program.bias.view[0].major, Major::kColumn);
}

TEST_F(BindTest, ScalarsByValue) {
  const auto program =
      coda::bind<Bound>(std::vector<Argument>{{"alpha", {}, 2.5}, {"offset", {}, -100}});
  EXPECT_EQ(program.alpha.get(), 2.5f);
  EXPECT_EQ(program.alpha.pointer, nullptr);
  EXPECT_EQ(program.offset.get(), -100);
}

TEST_F(BindTest, ScalarsByPointer) {
  const auto program = coda::bind<Bound>(std::vector<Argument>{
      {"alpha", {erase(Matrix(&number, 1, 1))}}, {"offset", {erase(Matrix(&integer, 1, 1))}}});
  EXPECT_EQ(program.alpha.pointer, &number);
  number = 0.75f;  // read when the program runs
  EXPECT_EQ(program.alpha.get(), 0.75f);
  EXPECT_EQ(program.offset.get(), 9);
}

TEST_F(BindTest, ParametersOfWhatFinishesPartials) {
  const Argument port{"rstd", {erase(Matrix(squares, 2, 5))}};
  const Argument width{"rstd.width", {}, 64}, epsilon{"rstd.epsilon", {}, 0.5};
  const auto program = coda::bind<Bound>(std::vector<Argument>{epsilon, port, width});
  EXPECT_TRUE(program.rstd.given);
  EXPECT_EQ(program.rstd.view[0].rows, 2);
  EXPECT_EQ(program.rstd.finish.width, 64.0f);
  EXPECT_EQ(program.rstd.finish.epsilon, 0.5f);
  expect_refused({port, width}, {"'rstd.epsilon'", "a number beside 'rstd'", "nothing"});
  expect_refused({port, epsilon}, {"'rstd.width'", "a number beside 'rstd'", "nothing"});
  expect_refused({width, epsilon}, {"'rstd.width'", "'rstd' beside it", "nothing"});
}

TEST_F(BindTest, StatesOfAReductionAsFloats) {
  const auto program = coda::bind<Bound>(
      std::vector<Argument>{{"lse", {erase(Matrix(lse, 1, 10))}}});  // 5 states of 2
  EXPECT_EQ(program.lse.view[0].columns, 5);
  EXPECT_EQ(program.lse.view[0].ld, 5);
  EXPECT_EQ(static_cast<void*>(program.lse.view[0].data), lse);
  expect_refused({{"lse", {erase(Matrix(lse, 1, 5))}}}, {"bound", "'lse'", "2 floats", "got 5"});
  expect_refused({{"lse", {erase(Matrix(lse, 2, 4, 5))}}}, {"'lse'", "2 floats", "got 4 and 5"});
}

TEST_F(BindTest, StatesOfAReductionAsThemselves) {
  LogSumExp::State<float> states[5];
  const auto program =
      coda::bind<Bound>(std::vector<Argument>{{"lse", {erase(Matrix(states, 1, 5))}}});
  EXPECT_EQ(program.lse.view[0].columns, 5);
  EXPECT_EQ(program.lse.view[0].data, states);
  TensorView wrong = erase(Matrix(states, 1, 5));
  wrong.element_bytes = 12;
  expect_refused({{"lse", {wrong}}}, {"'lse'", "states of 8 bytes", "got 12"});
}

TEST_F(BindTest, UnknownNamesListTheKnownOnes) {
  expect_refused({{"biass", {erase(Matrix(bias, 1, 7))}}},
                 {"bound: argument 'biass'", "alpha, offset, target, bias, rstd, out, lse",
                  "rstd.width, rstd.epsilon", "unknown"});
  expect_refused({{"rstd.eps", {}, 1}}, {"'rstd.eps'", "rstd.epsilon"});
  expect_refused({{"", {}, 1}}, {"argument ''", "unknown"});
}

TEST_F(BindTest, DoubledNames) {
  expect_refused({target_argument(), target_argument()},
                 {"bound: argument 'target'", "one argument of that name", "several"});
  expect_refused({{"rstd.epsilon", {}, 1}, {"rstd.epsilon", {}, 1}}, {"'rstd.epsilon'", "several"});
}

TEST_F(BindTest, WrongElementTypes) {
  expect_refused({{"target", {erase(Matrix(squares, 1, 5))}}}, {"'target'", "int64", "got fp32"});
  expect_refused({{"bias", {erase(Matrix(squares, 1, 7))}}}, {"'bias'", "bf16", "got fp32"});
  expect_refused({{"rstd", {erase(Matrix(bias, 1, 5))}}}, {"'rstd'", "fp32", "got bf16"});
  expect_refused({{"alpha", {erase(Matrix(&integer, 1, 1))}}}, {"'alpha'", "fp32", "got int32"});
  expect_refused({{"lse", {erase(Matrix(bias, 1, 4))}}}, {"'lse'", "state", "got bf16"});
}

TEST_F(BindTest, WrongNumberOfSegments) {
  expect_refused({{"out", {erase(Matrix(out[0], 5, 7))}}}, {"'out'", "2 segment(s)", "got 1"});
  const TensorView bias_view = erase(Matrix(bias, 1, 7));
  expect_refused({{"bias", {bias_view, bias_view}}}, {"'bias'", "1 segment(s)", "got 2"});
  const TensorView one = erase(Matrix(&number, 1, 1));
  expect_refused({{"alpha", {one, one}}}, {"'alpha'", "1 segment(s)", "got 2"});
}

TEST_F(BindTest, NumberForATensorAndTensorForANumber) {
  expect_refused({{"target", {}, 3}}, {"'target'", "a tensor [M]", "a number"});
  expect_refused({{"rstd.epsilon", {erase(Matrix(&number, 1, 1))}}},
                 {"'rstd.epsilon'", "a number", "a tensor"});
}

TEST_F(BindTest, ScalarTensorsHoldOneElement) {
  expect_refused({{"alpha", {erase(Matrix(squares, 1, 2))}}}, {"'alpha'", "one element", "[1, 2]"});
  expect_refused({{"alpha", {erase(Matrix<float>(nullptr, 1, 1))}}}, {"'alpha'", "null"});
}

TEST_F(BindTest, IntegerScalarsTakeIntegersThatFit) {
  expect_refused({{"offset", {}, 0.5}}, {"'offset'", "int32", "got 0.5"});
  expect_refused({{"offset", {}, 0x1p31}}, {"'offset'", "int32", "got 2147483648"});
  expect_refused({{"offset", {}, std::numeric_limits<double>::quiet_NaN()}}, {"'offset'", "nan"});
  EXPECT_EQ(coda::bind<Bound>(std::vector<Argument>{{"offset", {}, -0x1p31}}).offset.get(),
            std::numeric_limits<int32_t>::min());
}

TEST(FindArgumentTest, ByName) {
  const std::vector<Argument> arguments = {{"a", {}, 1}, {"b", {}, 2}};
  EXPECT_EQ(find_argument(arguments, "b"), &arguments[1]);
  EXPECT_EQ(find_argument(arguments, "c"), nullptr);
}

}  // namespace
}  // namespace coda
