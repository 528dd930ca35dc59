// Programs that come as graphs: that they run, and that what is worked out for a kernel without the
// program's type is what its type says.
#include "coda/author/traced_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coda/author/nvrtc.h"
#include "coda/author/traced_kernel.h"
#include "coda/catalogue/operation.h"
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
};
struct PairProgram {
  Store<fp16> out;
  RowReduce<LogSumExp> lse;
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

// Values go by the beginnings of ports' names: of 'order', where 'o' is taken, that would be 'or'.
TEST(TracedProgramTest, SourcesCallValuesNoWordOfCpp) {
  const std::string source = program(R"(program p fp32 1
port PerElement offset fp32
port PerElement order fp32
port Store out fp32
node accumulator 0
node load offset
node load order
node Multiply 1 1
node Multiply 2 2
node Multiply 3 4
node Add 0 5
output out 6
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

// Whatever the host's compiler is given: all that graphs may say and C++ has no plain word for.
TEST(TracedProgramTest, RunsOnTheHost) {
  setenv("CODA_CACHE", testing::TempDir().c_str(), 1);
  const coda_program* turned = nullptr;
  ASSERT_EQ(coda_define_program(R"(program turned fp32 1
port PerRow frequency fp32
port PerRow place int32
port Scalar alpha fp32
port Store out fp32
node accumulator 0
node load frequency
node load place
node ToFloat 2
node TurnCosine 3 1
node TurnSine 3 1
node constant 0
node Divide 6 6
node Less 0 6
node Select 8 7 4
node constant 1e30
node Multiply 10 5
node Multiply 10 11
node load alpha
node Multiply 13 12
node Add 9 14
output out 15
)",
                                &turned),
            CODA_OK)
      << coda_last_error();
  float x[2] = {1, -1}, w[1] = {1}, frequency[2] = {0, 0}, out[2] = {};
  int32_t place[2] = {1, 2};
  const coda_tensor a{x, CODA_FP32, 2, 1, 1, 0}, b{w, CODA_FP32, 1, 1, 1, 0};
  const coda_tensor frequencies{frequency, CODA_FP32, 1, 2, 2, 0};
  const coda_tensor places{place, CODA_INT32, 1, 2, 2, 0}, result{out, CODA_FP32, 2, 1, 1, 0};
  const coda_operand operand_a{&a, nullptr, 1, CODA_CUT_NONE, 0};
  const coda_operand operand_b{&b, nullptr, 1, CODA_CUT_NONE, 0};
  const coda_argument arguments[] = {{"frequency", &frequencies, 1, 0},
                                     {"place", &places, 1, 0},
                                     {"alpha", nullptr, 0, 2},
                                     {"out", &result, 1, 0}};
  ASSERT_EQ(coda_run_program(turned, &operand_a, &operand_b, arguments, 4, nullptr), CODA_OK)
      << coda_last_error();
  EXPECT_EQ(out[0], 1);  // cos 0 + 2·10^30·10^30·sin 0
  EXPECT_TRUE(std::isnan(out[1]));
}

// PyTorch asks for gradients before anybody knows that they are zero.
TEST(TracedProgramTest, NoOutputDependsOnWhatWasAsked) {
  const coda_program *steps = nullptr, *derived = nullptr;
  ASSERT_EQ(coda_define_program("program steps fp32 1\nport Store out fp32\nnode accumulator 0\n"
                                "node Floor 0\noutput out 1\n",
                                &steps),
            CODA_OK);
  const coda_backward options{sizeof(options), "out", "", 1, 0, CODA_FP32};
  ASSERT_EQ(coda_derive_program(steps, &options, &derived), CODA_OK) << coda_last_error();
  const std::string source = coda_program_source(derived);
  EXPECT_NE(source.find("coda::names();\n"), std::string::npos) << source;
  float x[1] = {1};
  const coda_tensor tensor{x, CODA_FP32, 1, 1, 1, 0};
  const coda_operand operand{&tensor, nullptr, 1, CODA_CUT_NONE, 0};
  EXPECT_EQ(coda_run_program(derived, &operand, &operand, nullptr, 0, nullptr), CODA_OK)
      << coda_last_error();
}

TEST(TracedProgramTest, LongNamesAreCut) {
  try {
    catalogue::find_operation(std::string(63, 'x') + std::string(1000, '\xc3'));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).find("x\xc3...'; there are "), 100u) << error.what();
  }
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

  options.gradients = "";
  EXPECT_EQ(coda_derive_program(gated, &options, &derived), CODA_BAD_ARGUMENT);
  EXPECT_STREQ(coda_last_error(),
               "derive gated: expected gradients of its accumulators or of inputs, got neither");
  options.gradients = "bias";
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
