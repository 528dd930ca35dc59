// A program seen from outside: every property of every port.
#include "coda/program/describe.h"

#include <gtest/gtest.h>

namespace coda {
namespace {

struct Everything {
  Scalar<int32_t> offset;
  PerRow<const int64_t> target;
  Optional<PerColumn<const bf16>> bias;
  Paired<PerElement<const fp16>> residual;
  PerRowFrom<ReciprocalRms> rstd;
  Store<bf16, 3> out;
  RowReduce<LogSumExp, 128> lse;
  Optional<ColumnReduce<Sum>> columns;

  static constexpr const char* name = "everything";
  static constexpr int accumulators = 2;
  static constexpr auto port_names =
      names("offset", "target", "bias", "residual", "rstd", "out", "lse", "columns");
};

TEST(DescribeTest, ProgramAndNames) {
  const ProgramView view = describe(Everything{});
  EXPECT_EQ(view.name, "everything");
  EXPECT_EQ(view.accumulators, 2);
  EXPECT_FALSE(view.groups);
  ASSERT_EQ(view.ports.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(view.ports[i].name, Everything::port_names.name[i]);
    EXPECT_FALSE(view.ports[i].given);
  }
}

TEST(DescribeTest, NullIsMissing) {
  Everything program{.residual = nullptr, .out = nullptr, .lse = nullptr, .columns = nullptr};
  program.bias = nullptr;
  for (const PortView& port : describe(program).ports) EXPECT_FALSE(port.given) << port.name;
}

TEST(DescribeTest, TypesSizesAndWrappers) {
  const ProgramView view = describe(Everything{});
  const DType types[] = {DType::kInt32, DType::kInt64, DType::kBf16,  DType::kFp16,
                         DType::kFp32,  DType::kBf16,  DType::kState, DType::kFp32};
  const int64_t bytes[] = {4, 8, 2, 2, 4, 2, 8, 4}, alignments[] = {4, 8, 2, 2, 4, 2, 4, 4};
  for (size_t i = 0; i < 8; ++i) {
    const PortView& port = view.ports[i];
    EXPECT_EQ(port.dtype, types[i]) << port.name;
    EXPECT_EQ(port.element_bytes, bytes[i]) << port.name;
    EXPECT_EQ(port.alignment, alignments[i]) << port.name;
    EXPECT_EQ(port.optional, port.name == "bias" || port.name == "columns") << port.name;
    EXPECT_EQ(port.paired, port.name == "residual") << port.name;
    EXPECT_EQ(port.segments, port.name == "out" ? 3 : 1) << port.name;
  }
  EXPECT_EQ(view.ports[6].partial_width, 128);
  EXPECT_EQ(view.ports[7].partial_width, 64);
}

TEST(DescribeTest, ViewsOfWhatIsGiven) {
  bf16 out[3][60];
  int64_t target[5];
  int32_t offset = 0;
  Everything program;
  program.offset = &offset;
  program.target = {target, 5};
  program.out = {Matrix(out[0], 5, 4), Matrix(out[1], 5, 2, 9), Matrix(out[2], 5, 3)};
  const ProgramView view = describe(program);
  EXPECT_TRUE(view.ports[0].given);
  EXPECT_EQ(view.ports[0].scalar_pointer, &offset);
  EXPECT_TRUE(view.ports[1].given);
  EXPECT_EQ(view.ports[1].view[0].data, target);
  EXPECT_EQ(view.ports[1].view[0].rows, 1);
  EXPECT_EQ(view.ports[1].view[0].columns, 5);
  EXPECT_FALSE(view.ports[2].given);
  EXPECT_EQ(view.ports[5].view[1].data, out[1]);
  EXPECT_EQ(view.ports[5].view[1].columns, 2);
  EXPECT_EQ(view.ports[5].view[1].ld, 9);
  EXPECT_EQ(view.ports[5].view[2].columns, 3);
  program.offset = 3;
  EXPECT_EQ(describe(program).ports[0].scalar_pointer, nullptr);
}

TEST(DescribeTest, KindsAndShapesInWords) {
  const ProgramView view = describe(Everything{});
  const char* kinds[] = {"Scalar",     "PerRow", "PerColumn", "PerElement",
                         "PerRowFrom", "Store",  "RowReduce", "ColumnReduce"};
  const char* shapes[] = {"[]",         "[M]",    "[N]",          "[M, 2N]",
                          "[parts, M]", "[M, N]", "[⌈N/128⌉, M]", "[⌈M/64⌉, N]"};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_STREQ(kind_name(view.ports[i].kind), kinds[i]);
    EXPECT_EQ(shape_name(view.ports[i]), shapes[i]);
  }
}

}  // namespace
}  // namespace coda
