// Programs that come as graphs: what is refused, and that what is worked out for a kernel without
// the program's type is what its type says.
#include "coda/author/traced_program.h"

#include <gtest/gtest.h>

#include "coda/author/nvrtc.h"
#include "coda/author/traced_kernel.h"
#include "coda/coda.h"
#include "coda/core/error.h"
#include "coda/trace/graph_text.h"

namespace coda::author {
namespace {

constexpr const char* kGated = R"(program gated bf16 1
port PerElement up bf16
port PerRow scale fp32
port PerColumn bias bf16
port Scalar alpha fp32 0.5
port Store out bf16
port RowReduce norm Sum
port ColumnReduce top Max
node accumulator 0
node load scale
node Multiply 0 1
node load bias
node Add 2 3
node Tanh 4
node load up
node Multiply 5 6
node load alpha
node Multiply 7 8
output out 9
output norm 4
output top 7
)";

constexpr const char* kPair = R"(program pair fp16 2
port Store out fp16
port RowReduce lse LogSumExp
node accumulator 0
node accumulator 1
node Multiply 0 1
output out 2
output lse 0
)";

// The same as types.
struct Gated {
  PerElement<const bf16> up;
  PerRow<const float> scale;
  PerColumn<const bf16> bias;
  Scalar<float> alpha;
  Store<bf16> out;
  RowReduce<Sum> norm;
  ColumnReduce<Max> top;
  static constexpr auto port_names = names("up", "scale", "bias", "alpha", "out", "norm", "top");
};
struct PairProgram {
  Store<fp16> out;
  RowReduce<LogSumExp> lse;
  static constexpr auto port_names = names("out", "lse");
  static constexpr int accumulators = 2;
};

template <class P, class... K>
void expect_same(const std::vector<TileFacts>& facts, plan::KernelList<K...>) {
  ASSERT_EQ(facts.size(), sizeof...(K));
  size_t i = 0;
  (
      [&] {
        EXPECT_EQ(kernel::kTileConfigs[facts[i].tile], K::kTile);
        EXPECT_EQ(facts[i].shared_bytes, K::kSharedBytes);
        EXPECT_EQ(facts[i].any_columns, K::kAnyColumns);
        ++i;
      }(),
      ...);
}

TracedProgram program(const char* text) {
  trace::ReadGraph read = trace::read_graph(text);
  return {std::move(read.graph), read.operand};
}

TEST(TracedProgramTest, KernelsAreThoseOfTheType) {
  const TracedProgram gated = program(kGated), pair = program(kPair);
  EXPECT_EQ(program_bytes(gated.view()), sizeof(Gated));
  EXPECT_EQ(program_bytes(pair.view()), sizeof(PairProgram));
  expect_same<Gated>(choose_tiles(gated.view(), false), all_kernels<Gated, bf16>());
  expect_same<PairProgram>(choose_tiles(pair.view(), true), all_kernels<PairProgram, fp16>());
}

TEST(TracedProgramTest, NoTileHasRoom) {
  std::string text = "program wide bf16 1\nport Store out fp32\n";
  for (int i = 0; i < 12; ++i) text += "port PerElement p" + std::to_string(i) + " fp32\n";
  const TracedProgram wide = program((text + "node accumulator 0\noutput out 0\n").c_str());
  try {
    choose_tiles(wide.view(), false);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("8192 bytes  p3"), std::string::npos) << error.what();
  }
}

// Sizes that the source asserts are asserted by NVRTC.
TEST(TracedProgramTest, NvrtcCompilesThem) {
  try {
    Nvrtc::get();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  setenv("CODA_CACHE", testing::TempDir().c_str(), 1);
  const TracedProgram gated = program(kGated), pair = program(kPair);
  for (const TracedProgram* one : {&gated, &pair}) {
    const TileFacts facts = choose_tiles(one->view(), one == &pair).back();
    const CompiledKernel kernel =
        compile(traced_kernel(one->text(), one->view(), one->operand(), facts));
    std::printf("%s: %.1f s, %d registers\n", one->view().name.c_str(), kernel.seconds,
                kernel.registers);
    EXPECT_EQ(kernel.spilled_bytes, 0) << one->source();
  }
}

struct BadText {
  const char *text, *message;
};

TEST(TracedProgramTest, RefusesGraphs) {
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
  };
  for (const BadText& bad : cases) {
    try {
      trace::read_graph(head + bad.text);
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
                             {"program p bf16 1\n", "an output at least, got none"}}) {
    try {
      trace::read_graph(bad.text);
      FAIL() << bad.text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(bad.message), std::string::npos) << error.what();
    }
  }
}

// Values go by the beginnings of ports' names: of 'order' that would be 'or'.
TEST(TracedProgramTest, SourcesCallValuesNoWordOfCpp) {
  const std::string source = program(R"(program p fp32 1
port PerElement order fp32
port Store o fp32
node accumulator 0
node load order
node Multiply 0 1
node Multiply 1 1
node Add 2 3
output o 4
)")
                                 .source();
  EXPECT_NE(source.find("const auto ord = tile.load(order);"), std::string::npos) << source;
}

// What fp32 does not hold is infinite, in the formula with its sign.
TEST(TracedProgramTest, SourcesHaveNumbersOfFp32) {
  const std::string source = program(R"(program p fp32 1
port Store out fp32
node accumulator 0
node constant -1e39
node Add 0 1
output out 2
)")
                                 .source();
  EXPECT_NE(source.find("-coda::stdlib::numeric_limits<float>::infinity()"), std::string::npos)
      << source;
  EXPECT_NE(source.find("A·Bᵀ + -∞"), std::string::npos) << source;
}

TEST(TracedProgramTest, CInterface) {
  const coda_program *gated = nullptr, *again = nullptr, *derived = nullptr;
  ASSERT_EQ(coda_define_program(kGated, &gated), CODA_OK) << coda_last_error();
  ASSERT_EQ(coda_define_program(kGated, &again), CODA_OK);
  EXPECT_EQ(gated, again);
  coda_backward options{sizeof(options), "out norm", "bias", 0, 1, CODA_BF16};
  ASSERT_EQ(coda_derive_program(gated, &options, &derived), CODA_OK) << coda_last_error();
  const std::string source = coda_program_source(derived);
  EXPECT_NE(source.find("ColumnReduce<coda::Sum> dbias"), std::string::npos) << source;
  EXPECT_EQ(source.find("daccumulator"), std::string::npos) << source;
  coda_port port{.size = sizeof(port)};
  EXPECT_EQ(coda_get_program_port(gated, 3, &port), CODA_OK);
  EXPECT_STREQ(port.name, "alpha");
  EXPECT_EQ(coda_get_program_port(gated, 7, &port), CODA_BAD_ARGUMENT);

  options.outputs = "other";
  EXPECT_EQ(coda_derive_program(gated, &options, &derived), CODA_BAD_ARGUMENT);
  EXPECT_NE(std::string(coda_last_error()).find("has no port 'other'"), std::string::npos);
  options.kept_dtype = CODA_INT32;
  EXPECT_EQ(coda_derive_program(gated, &options, &derived), CODA_BAD_ARGUMENT);
  options.outputs = nullptr;
  EXPECT_EQ(coda_derive_program(gated, &options, &derived), CODA_BAD_ARGUMENT);
  EXPECT_NE(std::string(coda_last_error()).find("options.outputs"), std::string::npos);
  for (const uint64_t size : {uint64_t{8}, UINT64_MAX}) {
    options.size = size;
    EXPECT_EQ(coda_derive_program(gated, &options, &derived), CODA_BAD_ARGUMENT);
    EXPECT_NE(std::string(coda_last_error()).find("options.size"), std::string::npos);
  }
  EXPECT_EQ(coda_derive_program(nullptr, &options, &derived), CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_define_program(nullptr, &gated), CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_program_source(nullptr), nullptr);

  float x[4] = {1, 2, 3, 4};
  const coda_tensor tensor{x, CODA_FP32, 2, 2, 2, 0};
  const coda_operand operand{&tensor, nullptr, 1, CODA_CUT_NONE, 0};
  EXPECT_EQ(coda_run_program(gated, &operand, &operand, nullptr, 0, nullptr), CODA_BAD_ARGUMENT);
  EXPECT_STREQ(coda_last_error(), "gated: argument 'A': expected elements of type bf16, got fp32");
}

}  // namespace
}  // namespace coda::author
