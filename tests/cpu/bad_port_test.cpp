// Ports that are missing, have other extents than the operands, or cannot be read or written.
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

using Case = BadCase<PlainCall>;
constexpr int64_t kOverflow = int64_t{1} << 62;

const Case kVectors[] = {
    {"RowTooShort",
     [](auto& c) { c.program.row.view[0].columns = 69; },
     {"'row'", "70 values [M]", "got 69"}},
    {"RowTooLong",
     [](auto& c) { c.program.row.view[0].columns = 71; },
     {"'row'", "70 values [M]", "got 71"}},
    {"RowAsAColumn",
     [](auto& c) { c.program.row = Matrix<const float>(c.row.data(), 70, 1); },
     {"'row'", "70 values [M]", "[70, 1]"}},
    {"RowNull", [](auto& c) { c.program.row = {nullptr, 70}; }, {"'row'", "70 elements", "null"}},
    {"RowNegative",
     [](auto& c) { c.program.row.view[0].columns = -70; },
     {"'row'", "70 values", "got -70"}},
    {"RowUnaligned",
     [](auto& c) { c.program.row.view[0].data = misaligned(c.row.data()); },
     {"'row'", "aligned to 4"}},
    {"RowColumnMajor",
     [](auto& c) { c.program.row.view[0].major = Major::kColumn; },
     {"'row'", "a row-major view", "column-major"}},
    {"IntegerTooShort",
     [](auto& c) { c.program.integer.view[0].columns = 1; },
     {"'integer'", "70 values [M]", "got 1"}},
    {"IntegerUnaligned",
     [](auto& c) { c.program.integer.view[0].data = misaligned(c.integer.data()); },
     {"'integer'", "aligned to 8 bytes"}},
    {"ColumnTooShort",
     [](auto& c) { c.program.column.view[0].columns = 70; },
     {"'column'", "130 values [N]", "got 70"}},
    {"ColumnNull",
     [](auto& c) { c.program.column.view[0].data = nullptr; },
     {"'column'", "130 elements", "null"}},
    {"ColumnAsMatrix",
     [](auto& c) { c.program.column = Matrix<const float>(c.element.data(), 70, 130); },
     {"'column'", "130 values [N]", "[70, 130]"}},
    {"ScalarUnaligned",
     [](auto& c) { c.program.scalar.pointer = misaligned(c.scalar.data()); },
     {"'scalar'", "aligned to 4 bytes", "address 0x"}},
    {"PartialsOfOtherRows",
     [](auto& c) { c.program.rstd.view[0].columns = 69; },
     {"'rstd'", "partials of 70 rows (M)", "got 69"}},
    {"PartialsNull",
     [](auto& c) { c.program.rstd.view[0].data = nullptr; },
     {"'rstd'", "140 elements", "null"}},
    {"PartialsNegative",
     [](auto& c) { c.program.rstd.view[0].rows = -1; },
     {"'rstd'", "at least 0", "[-1, 70]"}},
    {"PartialsLeadingDimension",
     [](auto& c) { c.program.rstd.view[0].ld = 69; },
     {"'rstd'", "at least 70", "got 69"}},
};

const Case kMatrices[] = {
    {"ElementRows",
     [](auto& c) { c.program.element.view[0].rows = 69; },
     {"'element'", "[70, 130] [M, N]", "[69, 130]"}},
    {"ElementColumns",
     [](auto& c) { c.program.element.view[0].columns = 131; },
     {"'element'", "[70, 130]", "[70, 131]"}},
    {"ElementTransposed",
     [](auto& c) { c.program.element = Matrix<const float>(c.element.data(), 130, 70); },
     {"'element'", "[70, 130]", "[130, 70]"}},
    {"ElementNull",
     [](auto& c) { c.program.element.view[0].data = nullptr; },
     {"'element'", "9100 elements", "null"}},
    {"ElementLeadingDimension",
     [](auto& c) { c.program.element.view[0].ld = 129; },
     {"'element'", "at least 130", "got 129"}},
    {"ElementColumnMajor",
     [](auto& c) { c.program.element.view[0].major = Major::kColumn; },
     {"'element'", "a row-major view", "column-major"}},
    {"ElementUnaligned",
     [](auto& c) { c.program.element.view[0].data = misaligned(c.element.data()); },
     {"'element'", "aligned to 4"}},
    {"ElementOverflow",
     [](auto& c) { c.program.element.view[0].ld = kOverflow; },
     {"'element'", "below 2^63", "70 lines"}},
    {"OutMissing",
     [](auto& c) { c.program.out = {}; },
     {"'out'", "a Store port [M, N]", "missing"}},
    {"OutRows",
     [](auto& c) { c.program.out.view[0].rows = 71; },
     {"'out'", "[70, 130] [M, N]", "[71, 130]"}},
    {"OutColumns",
     [](auto& c) { c.program.out.view[0].columns = 129; },
     {"'out'", "[70, 130]", "[70, 129]"}},
    {"OutNegative",
     [](auto& c) { c.program.out.view[0].rows = -70; },
     {"'out'", "[70, 130]", "[-70, 130]"}},
    {"OutNull",
     [](auto& c) { c.program.out.view[0].data = nullptr; },
     {"'out'", "9100 elements", "null"}},
    {"OutLeadingDimension",
     [](auto& c) { c.program.out.view[0].ld = 1; },
     {"'out'", "at least 130", "got 1"}},
    {"OutColumnMajor",
     [](auto& c) { c.program.out.view[0].major = Major::kColumn; },
     {"'out'", "row-major", "column-major"}},
    {"OutUnaligned",
     [](auto& c) { c.program.out.view[0].data = misaligned(c.out.data()); },
     {"'out'", "aligned to 4"}},
    {"OutOverflow", [](auto& c) { c.program.out.view[0].ld = kOverflow; }, {"'out'", "below 2^63"}},
    {"OptionalStoreOfOtherExtents",
     [](auto& c) { c.program.copy.view[0].rows = 1; },
     {"'copy'", "[70, 130]", "[1, 130]"}},
    {"RowPartialsTooFew",
     [](auto& c) { c.program.rows.view[0].rows = 2; },
     {"'rows'", "[3, 70] [⌈N/64⌉, M]", "[2, 70]"}},
    {"RowPartialsTransposed",
     [](auto& c) { c.program.rows = Matrix<float>(c.rows.data(), 70, 3); },
     {"'rows'", "[3, 70]", "[70, 3]"}},
    {"RowPartialsNull",
     [](auto& c) { c.program.rows.view[0].data = nullptr; },
     {"'rows'", "210 elements", "null"}},
    {"RowPartialsLeadingDimension",
     [](auto& c) { c.program.rows.view[0].ld = 69; },
     {"'rows'", "at least 70", "got 69"}},
    {"ColumnPartialsTooMany",
     [](auto& c) { c.program.columns.view[0].rows = 3; },
     {"'columns'", "[2, 130] [⌈M/64⌉, N]", "[3, 130]"}},
    {"ColumnPartialsOfRows",
     [](auto& c) { c.program.columns = Matrix<float>(c.columns.data(), 2, 70); },
     {"'columns'", "[2, 130]", "[2, 70]"}},
    {"ColumnPartialsUnaligned",
     [](auto& c) { c.program.columns.view[0].data = misaligned(c.columns.data()); },
     {"'columns'", "aligned to 4"}},
    {"EverythingForFewerRows",
     [](auto& c) { c.A().rows = 64; },
     {"'row'", "64 values [M]", "got 70"}},
};

class BadPortTest : public testing::TestWithParam<Case> {};
TEST_P(BadPortTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Vectors, BadPortTest, testing::ValuesIn(kVectors), case_name<PlainCall>);
INSTANTIATE_TEST_SUITE_P(Matrices, BadPortTest, testing::ValuesIn(kMatrices), case_name<PlainCall>);

// A program whose ports are all required: each one is missed.
struct RequiredCall {
  static constexpr const char* kName = "scaled";
  Tensor<float> a{3, 2}, b{5, 2}, c{3, 5}, out{3, 5};
  Scaled<float> program;

  RequiredCall() {
    for (Tensor<float>* input : {&a, &b, &c}) input->fill_integers(1);
    program = {.alpha = 1.0f, .beta = 2.0f, .c = Matrix<const float>(c.view()), .out = out.view()};
  }
  void run() const { cpu::run(program, Operand(a.view()), Operand(b.view()), {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(out); }
  bool inputs_equal(const RequiredCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && c.same_bits(o.c);
  }
};

const BadCase<RequiredCall> kMissing[] = {
    {"Alpha", [](auto& c) { c.program.alpha = {}; }, {"'alpha'", "a Scalar port []", "missing"}},
    {"NullBeta",
     [](auto& c) { c.program.beta = static_cast<const float*>(nullptr); },
     {"'beta'", "a Scalar port []", "missing"}},
    {"C", [](auto& c) { c.program.c = {}; }, {"'c'", "a PerElement port [M, N]", "missing"}},
    {"Out", [](auto& c) { c.program.out = {}; }, {"'out'", "a Store port [M, N]", "missing"}},
};

class MissingPortTest : public testing::TestWithParam<BadCase<RequiredCall>> {};
TEST_P(MissingPortTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, MissingPortTest, testing::ValuesIn(kMissing),
                         case_name<RequiredCall>);

TEST(RequiredCallTest, IsAcceptedUnspoiled) { EXPECT_NO_THROW(RequiredCall().run()); }

}  // namespace
}  // namespace coda::cpu
