// Calls by port name: what bind() and then run() refuse.
#include "coda/program/bind.h"
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

// The call of PlainCall with arguments by name.
struct NamedCall : PlainCall {
  std::vector<Argument> arguments;

  NamedCall() {
    const auto one = [](auto& tensor) { return std::vector<TensorView>{erase(tensor.view())}; };
    arguments = {{"row", one(row)},         {"column", one(column)},   {"element", one(element)},
                 {"scalar", one(scalar)},   {"integer", one(integer)}, {"rstd", one(squares)},
                 {"rstd.epsilon", {}, 0.5}, {"rstd.width", {}, 1},     {"copy", one(copy)},
                 {"rows", one(rows)},       {"columns", one(columns)}, {"out", one(out)}};
  }
  Argument& at(const std::string& name) {
    for (Argument& argument : arguments) {
      if (argument.name == name) return argument;
    }
    throw std::out_of_range(name);
  }
  TensorView& tensor(const std::string& name) { return at(name).tensors.at(0); }
  void drop(const std::string& name) {
    std::erase_if(arguments, [&](const Argument& argument) { return argument.name == name; });
  }
  void run() const {
    cpu::run(coda::bind<WithOptional>(arguments), a_view, b_view, {.threads = 1});
  }
};

const BadCase<NamedCall> kCases[] = {
    {"Unknown",
     [](auto& c) { c.at("row").name = "rows_"; },
     {"'rows_'", "one of row, column", "an unknown name"}},
    {"UnknownParameter",
     [](auto& c) { c.at("rstd.epsilon").name = "rstd.eps"; },
     {"'rstd.eps'", "rstd.width, rstd.epsilon", "unknown"}},
    {"PortWithoutParameter",
     [](auto& c) { c.drop("rstd.width"); },
     {"'rstd.width'", "a number beside 'rstd'", "nothing"}},
    {"ParametersWithoutPort",
     [](auto& c) { c.drop("rstd"); },
     {"'rstd.", "'rstd' beside it", "nothing"}},
    {"Doubled",
     [](auto& c) { c.arguments.push_back(c.at("column")); },
     {"'column'", "one argument of that name", "several"}},
    {"DoubledOutput",
     [](auto& c) { c.arguments.push_back(c.at("out")); },
     {"'out'", "one argument", "several"}},
    {"MissingOutput", [](auto& c) { c.drop("out"); }, {"'out'", "a Store port [M, N]", "missing"}},
    {"WrongType",
     [](auto& c) { c.tensor("column").dtype = DType::kBf16; },
     {"'column'", "type fp32", "bf16"}},
    {"NarrowInteger",
     [](auto& c) { c.tensor("integer").dtype = DType::kInt32; },
     {"'integer'", "type int64", "int32"}},
    {"IntegerForFloat",
     [](auto& c) { c.tensor("out").dtype = DType::kInt32; },
     {"'out'", "type fp32", "int32"}},
    {"TwoSegments",
     [](auto& c) { c.at("out").tensors.push_back(c.tensor("out")); },
     {"'out'", "1 segment(s)", "got 2"}},
    {"NumberForTensor",
     [](auto& c) { c.at("row").tensors.clear(); },
     {"'row'", "a tensor [M]", "a number"}},
    {"TensorForNumber",
     [](auto& c) { c.at("rstd.epsilon").tensors = {c.tensor("scalar")}; },
     {"'rstd.epsilon'", "a number", "a tensor"}},
    {"VectorForScalar",
     [](auto& c) { c.tensor("scalar").columns = 3; },
     {"'scalar'", "one element", "[1, 3]"}},
    {"NullScalar",
     [](auto& c) { c.tensor("scalar").data = nullptr; },
     {"'scalar'", "one element", "a null pointer"}},
    {"NullData",
     [](auto& c) { c.tensor("element").data = nullptr; },
     {"'element'", "9100 elements", "null"}},
    {"Extents", [](auto& c) { c.tensor("rows").rows = 2; }, {"'rows'", "[3, 70]", "[2, 70]"}},
    {"LeadingDimension",
     [](auto& c) { c.tensor("copy").ld = 100; },
     {"'copy'", "at least 130", "got 100"}},
    {"Overlap",
     [](auto& c) { c.tensor("copy").data = c.out.data(); },
     {"'copy'", "apart from 'out'"}},
    {"ColumnMajor",
     [](auto& c) { c.tensor("out").major = Major::kColumn; },
     {"'out'", "row-major", "column-major"}},
};

class BadNameTest : public testing::TestWithParam<BadCase<NamedCall>> {};
TEST_P(BadNameTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadNameTest, testing::ValuesIn(kCases), case_name<NamedCall>);

TEST(NamedCallTest, GivesWhatTheTypedCallGives) {
  NamedCall named;
  ASSERT_NO_THROW(named.run());
  PlainCall typed;
  typed.program.rstd.finish.epsilon = 0.5f;
  typed.run();
  EXPECT_TRUE(named.out.same_bits(typed.out));
  EXPECT_TRUE(named.rows.same_bits(typed.rows));
}

}  // namespace
}  // namespace coda::cpu
