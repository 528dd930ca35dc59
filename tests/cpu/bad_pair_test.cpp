// Pairs and halves that do not match their program or each other.
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

struct GatedCall {
  static constexpr const char* kName = "gated";
  static constexpr int64_t M = 20, N = 70, K = 6;
  Tensor<bf16> a{M, K}, gate{N, K}, up{N, K};
  Tensor<float> product{M, N}, sum{M, N}, rows{2, M};
  Gated program;
  OperandView a_view, b_view;

  GatedCall() {
    for (Tensor<bf16>* t : {&a, &gate, &up}) t->fill_integers(1);
    program = {.product = product.view(), .sum = sum.view(), .rows = rows.view()};
    a_view = Operand(a.view());
    b_view = pair(gate.view(), up.view());
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(product, sum, rows); }
  bool inputs_equal(const GatedCall& o) const {
    return a.same_bits(o.a) && gate.same_bits(o.gate) && up.same_bits(o.up);
  }
};

const BadCase<GatedCall> kGatedCases[] = {
    {"SingleOperand",
     [](auto& c) { c.b_view = Operand(c.gate.view()); },
     {"'B'", "a pair of operands (coda::pair or coda::halves)", "a single operand"}},
    {"RowsOfSecond",
     [](auto& c) { c.b_view.part[1][0].rows = 69; },
     {"'B.second'", "[70, 6] as in its pair", "[69, 6]"}},
    {"ContractionOfSecond",
     [](auto& c) { c.b_view.part[1][0].columns = 5; },
     {"'B.second'", "[70, 6]", "[70, 5]"}},
    {"TypeOfSecond",
     [](auto& c) { c.b_view.part[1][0].dtype = DType::kFp16; },
     {"'B.second'", "bf16", "fp16"}},
    {"NullFirst",
     [](auto& c) { c.b_view.part[0][0].data = nullptr; },
     {"'B.first'", "420 elements", "null"}},
    {"NullSecond",
     [](auto& c) { c.b_view.part[1][0].data = nullptr; },
     {"'B.second'", "420 elements", "null"}},
    {"CutsDiffer",
     [](auto& c) { c.b_view = pair(Operand(c.gate.view()), rows(c.up.view(), c.up.view())); },
     {"'B.second'", "[70, 6] as in its pair", "[0, 0]"}},
    {"HalvesGiveHalfTheColumns",
     [](auto& c) { c.b_view = halves(2, c.gate.view()); },
     {"'product'", "[20, 35]", "[20, 70]"}},
    {"OutIsSecond",
     [](auto& c) { c.b_view.part[1][0].data = c.sum.data(); },
     {"'sum'", "apart from 'B'"}},
};

class BadPairTest : public testing::TestWithParam<BadCase<GatedCall>> {};
TEST_P(BadPairTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadPairTest, testing::ValuesIn(kGatedCases), case_name<GatedCall>);

// Three heads of 8.
struct RotatedCall {
  static constexpr const char* kName = "rotated";
  static constexpr int64_t M = 20, N = 12, K = 6;
  Tensor<bf16> a{M, K}, b{2 * N, K}, residual{M, 2 * N};
  Tensor<float> table{1, 2 * N}, out{M, 2 * N}, first{M, N}, squares{1, M};
  Rotated program;
  OperandView a_view, b_view;

  RotatedCall() {
    for (Tensor<bf16>* t : {&a, &b, &residual}) t->fill_integers(1);
    table.fill_integers(2);
    program = {.table = {table.data(), 2 * N},
               .residual = Matrix<const bf16>(residual.view()),
               .out = out.view(),
               .first = first.view(),
               .squares = squares.view()};
    a_view = Operand(a.view());
    b_view = halves(8, b.view());
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(out, first, squares); }
  bool inputs_equal(const RotatedCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && residual.same_bits(o.residual) &&
           table.same_bits(o.table);
  }
};

const BadCase<RotatedCall> kRotatedCases[] = {
    {"OddHeadDim",
     [](auto& c) { c.b_view.head_dim = 3; },
     {"'B'", "an even head_dim above 0", "got 3"}},
    {"ZeroHeadDim",
     [](auto& c) { c.b_view = halves(0, c.b.view()); },
     {"'B'", "an even head_dim above 0", "got 0"}},
    {"NegativeHeadDim",
     [](auto& c) { c.b_view.head_dim = -8; },
     {"'B'", "an even head_dim above 0", "got -8"}},
    {"HeadDimDoesNotDivide",
     [](auto& c) { c.b_view.head_dim = 10; },
     {"'B'", "a multiple of head_dim = 10 rows", "got 24"}},
    {"HeadDimTooLarge",
     [](auto& c) { c.b_view.head_dim = 258; },
     {"'B'", "at most 256", "got 258"}},
    {"SecondSegmentDoesNotDivide",
     [](auto& c) {
       c.b_view = halves(8, Matrix(c.b.data(), 16, 6, 11), Matrix(c.b.data() + 176, 4, 6, 11));
     },
     {"'B[1]'", "a multiple of head_dim = 8 rows", "got 4"}},
    {"PairInsteadOfHalves",
     [](auto& c) { c.b_view = pair(c.b.view(), c.b.view()); },
     {"'table'", "an operand B in halves for a paired port", "one without"}},
    {"TableOfOneHalf",
     [](auto& c) { c.program.table.view[0].columns = 12; },
     {"'table'", "24 values [2N]", "got 12"}},
    {"ResidualOfOneHalf",
     [](auto& c) { c.program.residual.view[0].columns = 12; },
     {"'residual'", "[20, 24] [M, 2N]", "[20, 12]"}},
    {"OutOfOneHalf",
     [](auto& c) { c.program.out.view[0].columns = 12; },
     {"'out'", "[20, 24] [M, 2N]", "[20, 12]"}},
    {"FirstOfBothHalves",
     [](auto& c) { c.program.first = c.out.view(); },
     {"'first'", "[20, 12] [M, N]", "[20, 24]"}},
    {"TableMissing",
     [](auto& c) { c.program.table = {}; },
     {"'table'", "a PerColumn port [2N]", "missing"}},
};

class BadHalvesTest : public testing::TestWithParam<BadCase<RotatedCall>> {};
TEST_P(BadHalvesTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadHalvesTest, testing::ValuesIn(kRotatedCases),
                         case_name<RotatedCall>);

// Sums over heads need heads.
struct HeadNormCall {
  static constexpr const char* kName = "head_norm";
  Tensor<bf16> a{5, 6}, b{24, 6};
  Tensor<float> out{5, 24}, sums{5, 12}, columns{1, 12};
  Tensor<Spread::State<float>> moments{1, 12};
  OperandView b_view = halves(8, b.view());

  HeadNormCall() {
    a.fill_integers(1);
    b.fill_integers(2);
  }
  void run() {
    cpu::run(HeadNorm{.out = out.view(),
                      .sums = sums.view(),
                      .columns = columns.view(),
                      .moments = moments.view()},
             Operand(a.view()), b_view, {.threads = 1});
  }
  bool outputs_untouched() const { return all_untouched(out, sums, columns, moments); }
  bool inputs_equal(const HeadNormCall& o) const { return a.same_bits(o.a) && b.same_bits(o.b); }
};

TEST(BadGroupsTest, NeedHeads) {
  expect_refused(BadCase<HeadNormCall>{"Pair",
                                       [](auto& c) { c.b_view = pair(c.b.view(), c.b.view()); },
                                       {"'B'", "halves with an even head_dim above 0", "got 0"}});
}

TEST(PairCallsTest, AreAcceptedUnspoiled) {
  EXPECT_NO_THROW(GatedCall().run());
  EXPECT_NO_THROW(RotatedCall().run());
  EXPECT_NO_THROW(HeadNormCall().run());
}

}  // namespace
}  // namespace coda::cpu
