// Segments that do not add up, along N, M and K.
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

// q, k, v of 70, 64 and 10 columns.
struct ColumnCall {
  static constexpr const char* kName = "column_segments";
  static constexpr int64_t M = 20, K = 6, N = 144;
  Tensor<bf16> a{M, K}, b[3] = {{70, K}, {64, K}, {10, K}};
  Tensor<float> bias[3] = {{1, 70}, {1, 64}, {1, 10}};
  Tensor<float> element[3] = {{M, 70}, {M, 64}, {M, 10}};
  Tensor<float> out[3] = {{M, 70}, {M, 64}, {M, 10}};
  Tensor<float> whole{1, N}, all{M, N}, sums{4, M}, column_sums{1, N};
  ColumnSegments program;
  OperandView a_view, b_view;

  ColumnCall() {
    a.fill_integers(1);
    whole.fill_integers(2);
    for (int s = 0; s < 3; ++s) {
      b[s].fill_integers(3);
      bias[s].fill_integers(4);
      element[s].fill_integers(5);
    }
    const auto read = [](const Tensor<float>& t) { return Matrix<const float>(t.view()); };
    program = {.bias = {read(bias[0]), read(bias[1]), read(bias[2])},
               .element = {read(element[0]), read(element[1]), read(element[2])},
               .whole = {whole.data(), N},
               .out = {out[0].view(), out[1].view(), out[2].view()},
               .all = all.view(),
               .sums = sums.view(),
               .column_sums = column_sums.view()};
    a_view = Operand(a.view());
    b_view = rows(b[0].view(), b[1].view(), b[2].view());
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const {
    return all_untouched(out[0], out[1], out[2], all, sums, column_sums);
  }
  bool inputs_equal(const ColumnCall& o) const {
    bool equal = a.same_bits(o.a) && whole.same_bits(o.whole);
    for (int s = 0; s < 3; ++s) {
      equal = equal && b[s].same_bits(o.b[s]) && bias[s].same_bits(o.bias[s]) &&
              element[s].same_bits(o.element[s]);
    }
    return equal;
  }
};

const BadCase<ColumnCall> kColumnCases[] = {
    {"ContractionOfOneSegment",
     [](auto& c) { c.b_view.part[0][1].columns = 5; },
     {"'B[1]'", "a contraction of 6 as in the first segment", "got 5"}},
    {"TypeOfOneSegment",
     [](auto& c) { c.b_view.part[0][2].dtype = DType::kFp16; },
     {"'B[2]'", "type bf16 as in the operand's first tensor", "fp16"}},
    {"NullSegment",
     [](auto& c) { c.b_view.part[0][1].data = nullptr; },
     {"'B[1]'", "384 elements", "null"}},
    {"LeadingDimensionOfOneSegment",
     [](auto& c) { c.b_view.part[0][2].ld = 2; },
     {"'B[2]'", "at least 6", "got 2"}},
    {"TwoSegmentsForThreePorts",
     [](auto& c) { c.b_view = rows(c.b[0].view(), c.b[1].view()); },
     {"'bias'", "1 segment or 2 as the operand has", "got 3"}},
    {"OneSegmentForThreePorts",
     [](auto& c) { c.b_view = Operand(c.b[0].view()); },
     {"'bias'", "1 segment or 1", "got 3"}},
    {"SegmentsInAnotherOrder",
     [](auto& c) { c.b_view = rows(c.b[1].view(), c.b[0].view(), c.b[2].view()); },
     {"'bias[0]'", "64 values", "got 70"}},
    {"BiasOfOneSegment",
     [](auto& c) { c.program.bias.view[2].columns = 9; },
     {"'bias[2]'", "10 values [N]", "got 9"}},
    {"ElementOfOneSegment",
     [](auto& c) { c.program.element.view[1].columns = 63; },
     {"'element[1]'", "[20, 64]", "[20, 63]"}},
    {"OutOfOneSegment",
     [](auto& c) { c.program.out.view[2].rows = 19; },
     {"'out[2]'", "[20, 10]", "[19, 10]"}},
    {"NullOutOfOneSegment",
     [](auto& c) { c.program.out.view[1].data = nullptr; },
     {"'out[1]'", "1280 elements", "null"}},
    {"WholeDoesNotAddUp",
     [](auto& c) { c.program.whole.view[0].columns = 143; },
     {"'whole'", "144 values", "got 143"}},
    {"AllDoesNotAddUp",
     [](auto& c) { c.program.all.view[0].columns = 140; },
     {"'all'", "[20, 144]", "[20, 140]"}},
    {"PartialsAcrossSegments",  // ⌈144/64⌉ = 3, but every segment starts a new one
     [](auto& c) { c.program.sums.view[0].rows = 3; },
     {"'sums'", "[4, 20]", "[3, 20]"}},
    {"SegmentsOverlap",
     [](auto& c) { c.program.out.view[2].data = c.out[1].data() + 60; },
     {"'out'", "apart from 'out'"}},
    {"CutAlongMAndN",
     [](auto& c) {
       c.a_view = rows(Matrix(c.a.data(), 10, 6, 11), Matrix(c.a.data() + 110, 10, 6, 11));
     },
     {"'B'", "segments along M or along N, not both", "2 and 3"}},
    {"ContractionCutOnlyInA",
     [](auto& c) {
       c.a_view = contraction(Matrix(c.a.data(), 20, 4, 11), Matrix(c.a.data() + 4, 20, 2, 11));
     },
     {"'B'", "2 segments along the contraction as in A", "got 1"}},
    {"TooManyColumnsInAll",
     [](auto& c) {
       for (int s = 0; s < 3; ++s) c.b_view.part[0][s].rows = 1000000000;
     },
     {"'B'", "at most 2147483647 rows in all", "got 3000000000"}},
};

class BadColumnSegmentTest : public testing::TestWithParam<BadCase<ColumnCall>> {};
TEST_P(BadColumnSegmentTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadColumnSegmentTest, testing::ValuesIn(kColumnCases),
                         case_name<ColumnCall>);

// Two gradients of 70 and 10 rows; or, spoiled, two pieces of the contraction.
struct RowCall {
  static constexpr const char* kName = "row_segments";
  static constexpr int64_t M = 80, K = 6, N = 20;
  Tensor<float> a[2] = {{70, K}, {10, K}}, b{N, K}, scale[2] = {{1, 70}, {1, 10}};
  Tensor<float> whole{1, M}, squares{1, M}, out[2] = {{70, N}, {10, N}};
  Tensor<float> all{M, N}, sums{1, M}, column_sums{3, N};
  RowSegments program;
  OperandView a_view, b_view;

  RowCall() {
    for (Tensor<float>* t : {&a[0], &a[1], &b, &scale[0], &scale[1], &whole}) t->fill_integers(1);
    squares.fill([](int64_t, int64_t) { return 1.0; });
    const auto read = [](const Tensor<float>& t) { return Matrix<const float>(t.view()); };
    program = {.scale = {read(scale[0]), read(scale[1])},
               .whole = {whole.data(), M},
               .rstd = {read(squares), ReciprocalRms{}},
               .out = {out[0].view(), out[1].view()},
               .all = all.view(),
               .sums = sums.view(),
               .column_sums = column_sums.view()};
    a_view = rows(a[0].view(), a[1].view());
    b_view = Operand(b.view());
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(out[0], out[1], all, sums, column_sums); }
  bool inputs_equal(const RowCall& o) const {
    return a[0].same_bits(o.a[0]) && a[1].same_bits(o.a[1]) && b.same_bits(o.b) &&
           scale[0].same_bits(o.scale[0]) && scale[1].same_bits(o.scale[1]) &&
           whole.same_bits(o.whole) && squares.same_bits(o.squares);
  }
};

const BadCase<RowCall> kRowCases[] = {
    {"ContractionOfOneSegment",
     [](auto& c) { c.a_view.part[0][1].columns = 7; },
     {"'A[1]'", "a contraction of 6", "got 7"}},
    {"OneSegmentForTwoPorts",
     [](auto& c) { c.a_view = Operand(c.a[0].view()); },
     {"'scale'", "1 segment or 1", "got 2"}},
    {"ScaleOfOneSegment",
     [](auto& c) { c.program.scale.view[1].columns = 70; },
     {"'scale[1]'", "10 values [M]", "got 70"}},
    {"OutOfOneSegment",
     [](auto& c) { c.program.out.view[1].rows = 11; },
     {"'out[1]'", "[10, 20]", "[11, 20]"}},
    {"WholeDoesNotAddUp",
     [](auto& c) { c.program.whole.view[0].columns = 70; },
     {"'whole'", "80 values [M]", "got 70"}},
    {"PartialsAcrossSegments",
     [](auto& c) { c.program.column_sums.view[0].rows = 2; },
     {"'column_sums'", "[3, 20]", "[2, 20]"}},
    {"PartialsReadOfOneSegment",
     [](auto& c) { c.program.rstd.view[0].columns = 70; },
     {"'rstd'", "80 rows (M)", "got 70"}},
    {"RowsOfContractionSegments",
     [](auto& c) { c.a_view = contraction(c.a[0].view(), c.a[1].view()); },
     {"'A[1]'", "70 rows as in the first segment", "got 10"}},
    {"ContractionCutOnlyInB",
     [](auto& c) { c.b_view = contraction(c.b.view(), c.b.view()); },
     {"'B'", "1 segments along the contraction as in A", "got 2"}},
    {"ContractionCutElsewhere",
     [](auto& c) {
       c.a_view =
           contraction(Matrix(c.a[0].data(), 70, 2, 11), Matrix(c.a[0].data() + 2, 70, 4, 11));
       c.b_view = contraction(Matrix(c.b.data(), 20, 3, 11), Matrix(c.b.data() + 3, 20, 3, 11));
     },
     {"'B[0]'", "a contraction of 2 as in A", "got 3"}},
    {"TooManyRowsInAll",
     [](auto& c) {
       for (int s = 0; s < 2; ++s) c.a_view.part[0][s].rows = 2147483647;
     },
     {"'A'", "at most 2147483647 rows in all", "got 4294967294"}},
};

class BadRowSegmentTest : public testing::TestWithParam<BadCase<RowCall>> {};
TEST_P(BadRowSegmentTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadRowSegmentTest, testing::ValuesIn(kRowCases),
                         case_name<RowCall>);

TEST(SegmentCallsTest, AreAcceptedUnspoiled) {
  EXPECT_NO_THROW(ColumnCall().run());
  EXPECT_NO_THROW(RowCall().run());
}

}  // namespace
}  // namespace coda::cpu
