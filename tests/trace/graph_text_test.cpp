// Graphs from text: what is refused, and what becomes of constants.
#include "coda/trace/graph_text.h"

#include <gtest/gtest.h>

#include <clocale>

#include "coda/core/error.h"
#include "coda/trace/print_cpp.h"

namespace coda::trace {
namespace {

struct BadText {
  const char *text, *message;
};

TEST(GraphTextTest, RefusesGraphs) {
  const std::string head = "program p bf16 1\nport Store out bf16\nport PerRow a fp32\n";
  const BadText cases[] = {
      {"node accumulator 1\n", "an accumulator that the program has, got 1"},
      {"node load out\n", "a port that is read, got out, an output"},
      {"node load b\n", "p has no port 'b'"},
      {"node Multiply 0 1\n", "the place of a node before, got 0"},
      {"node accumulator 0\nnode Multiply 0\n", "2 operands of Multiply, got 1"},
      {"node Frobnicate 0\n", "no function for the operation Frobnicate"},
      {"node constant one\n", "a number, got one"},
      {"node constant nan\n", "a number, got nan"},
      {"node accumulator 0\noutput a 0\n", "a port that is written, got a, an input"},
      {"node accumulator 0\noutput out 0\noutput out 0\n", "one output to a port, got out twice"},
      {"node row\noutput out 0\n", "a float to write"},
      {"node accumulator 0\n", "never writes to 'out'"},
      {"port Store out bf16\n", "a name of its own for every port"},
      {"port Store 1st bf16\n", "a name of ASCII letters"},
      {"port Store while bf16\n", "'while' is a word of C++"},
      {"port Store not_eq bf16\n", "'not_eq' is a word of C++"},
      {"port Store NAN bf16\n", "'NAN' is a word of C++"},
      {"port Store Tile bf16\n", "'Tile' is a word of C++ or of its programs"},
      {"port Store o int8\n", "bf16, fp16, fp32, int32 or int64, got int8"},
      {"port RowReduce o Median\n", "Sum, Max or LogSumExp, got Median"},
      {"port Table o fp32\n", "or ColumnReduce, got Table"},
      {"port Store\n", "a name, got 'port Store'"},
      {"edge 1\n", "program, port, node or output, got edge"},
      {"program q bf16 2\n", "line 4 of its graph: expected one line 'program', got another"},
      {"node constant 0x10\n", "a number, got 0x10"},
      {"node constant 0,5\n", "a number, got 0,5"},
      {"node integer 0.5\n", "a whole number of 32 bits, got 0.5"},
      {"node integer 4294967296\n", "a whole number of 32 bits, got 4294967296"},
      {"node constant 1e400\n", "a number, got 1e400"},
      {"node integer 2147483648\n", "a whole number of 32 bits, got 2147483648"},
      {"node integer -2147483649\n", "a whole number of 32 bits, got -2147483649"},
      {"node integer inf\n", "a whole number of 32 bits, got inf"},
      {"node integer 65536\nnode Multiply 0 0\n", "an integer of 32 bits, or one that is not of"},
      {"node integer -2147483648\nnode Negate 0\n", "an integer of 32 bits, or one that is not"},
      {"node load a\nnode Less 0 0\nnode integer 1\nnode integer 2\nnode Select 1 2 3\n",
       "not of constants alone, got 'node Select 1 2 3'"},
      {"port Scalar s int32\n", "bf16, fp16 or fp32, got int32"},
      {"port Scalar s bf16\n", "line 4 of its graph: expected fp32, which a Scalar is, got bf16"},
      {"port PerColumn c int32\n", "bf16, fp16 or fp32, got int32"},
      {"port PerElement e int64\n", "bf16, fp16 or fp32, got int64"},
      {"port Store o int32\n", "bf16, fp16 or fp32, got int32"},
      {"node load a\nnode Select 0 0 0\n",
       "line 5 of its graph: expected a mask as operand 1 of Select, got a float, node 0"},
      {"node load a\nnode And 0 0\n", "a mask as operand 1 of And, got a float, node 0"},
      {"node load a\nnode Less 0 0\nnode Add 0 1\n",
       "a float as operand 2 of Add, got a mask, node 1"},
      {"node load a\nnode Less 0 0\nnode Equal 1 1\n",
       "a float as operand 1 of Equal, got a mask, node 1"},
      {"node load a\nnode row\nnode Add 0 1\n",
       "a float as operand 2 of Add, got an integer, node 1"},
      {"node load a\nnode row\nnode Less 0 0\nnode Select 2 1 0\n",
       "an integer as operand 3 of Select, got a float, node 0"},
      {"node row\nnode Divide 0 0\n", "a float as operand 1 of Divide, got an integer, node 0"},
      {"node load a\nnode ToFloat 0\n", "an integer as operand 1 of ToFloat, got a float"},
      {"port PerRow int32_t fp32\n", "'int32_t' is a word of C++ or of its programs"},
      {"port PerRow int64_t fp32\n", "'int64_t' is a word of C++ or of its programs"},
      {"port PerRow o fp32\nnode accumulator 0\noutput out 0\n",
       "'o': its gradient would be called 'do', which is a word of C++"},
      {"port PerRow __LINE__ fp32\n", "'__LINE__' may be a macro"},
      {"port PerRow a__b fp32\n", "'a__b' may be a macro"},
      {"port PerRow _Bool fp32\n", "'_Bool' may be a macro"},
      {"port PerRow INT_MAX fp32\n", "'INT_MAX' may be a macro"},
      {"port PerRow CODA_HD fp32\n", "'CODA_HD' may be a macro"},
      {"port PerRow ERANGE fp32\n", "'ERANGE' is a word of C++"},
  };
  for (const BadText& bad : cases) {
    try {
      read_graph(head + bad.text);
      FAIL() << bad.text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(bad.message), std::string::npos) << error.what();
    }
  }
  for (const BadText& bad : {BadText{"", "a line 'program', got none"},
                             {"node row\n", "a line 'program' first"},
                             {"program p bf16 3\n", "1 or 2 accumulators, got 3"},
                             {"program p bf16\n", "a number, got 'program p bf16'"},
                             {"program sum bf16 1\n", "'sum' is taken by coda::Sum"},
                             {"program _ bf16 1\n", "a program's name to have a letter first"},
                             {"program _1 bf16 1\n", "a program's name to have a letter first"},
                             {"program n_a_n bf16 1\n", "'NAN' is a word of C++"},
                             {"program p int32 1\n", "bf16, fp16 or fp32, got int32"},
                             {"program p bf16 1\n", "an output at least, got none"}}) {
    try {
      read_graph(bad.text);
      FAIL() << bad.text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(bad.message), std::string::npos) << error.what();
    }
  }
}

// What is written to 'out' by a program whose nodes begin with the accumulator (node 0), the
// integer row() (1) and the fp32 PerRow r (2).
std::string formula(const std::string& nodes, int output) {
  return print_formula(read_graph("program p fp32 1\nport Store out fp32\nport PerRow r fp32\n"
                                  "node accumulator 0\nnode row\nnode load r\n" +
                                  nodes + "output out " + std::to_string(output) + "\n")
                           .graph);
}

// C++ has no fragments of constants alone, so nothing of the kind is left.
TEST(GraphTextTest, ConstantsAreFolded) {
  EXPECT_EQ(formula("node integer 2\nnode integer 3\nnode Multiply 3 4\nnode ToFloat 5\n", 6),
            "    out = 6\n");
  EXPECT_EQ(formula("node integer 2\nnode integer 3\nnode Multiply 3 1\nnode Multiply 5 4\n"
                    "node ToFloat 6\n",
                    7),
            "    out = to_float(6·row)\n");
  EXPECT_EQ(formula("node constant 1\nnode Less 3 3\nnode Less 0 2\nnode Or 4 5\n"
                    "node Not 4\nnode And 6 7\nnode Select 8 0 2\n",
                    9),
            "    acc = A·Bᵀ\n    out = select(acc < r, acc, r)\n");
  EXPECT_EQ(formula("node constant 0\nnode Divide 3 3\nnode Max 0 4\n", 5),
            "    out = max(A·Bᵀ, NaN)\n");
}

// Two constants are one factor only where fp32 or 32 bits hold it.
TEST(GraphTextTest, FactorsDoNotOverflow) {
  const auto twice = [](const std::string& first, const std::string& second) {
    return formula("node constant " + first + "\nnode constant " + second +
                       "\nnode Multiply 3 0\nnode Multiply 4 5\n",
                   6);
  };
  EXPECT_EQ(twice("2", "3"), "    out = 6·A·Bᵀ\n");
  EXPECT_EQ(twice("0", "3"), "    out = 0·A·Bᵀ\n");
  EXPECT_EQ(twice("1e30", "1e30"), "    out = 1e+30·(1e+30·A·Bᵀ)\n");
  EXPECT_EQ(twice("1e-30", "1e-30"), "    out = 1e-30·(1e-30·A·Bᵀ)\n");
  EXPECT_EQ(
      formula("node integer 65536\nnode Multiply 3 1\nnode Multiply 3 4\nnode ToFloat 5\n", 6),
      "    out = to_float(65536·(65536·row))\n");
}

TEST(GraphTextTest, NumbersAreTheSameInEveryLocale) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no German locale";
  EXPECT_EQ(formula("node constant 0.5\nnode Multiply 0 3\n", 4), "    out = 0.5·A·Bᵀ\n");
  std::setlocale(LC_NUMERIC, "C");
}

}  // namespace
}  // namespace coda::trace
