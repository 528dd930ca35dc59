// Which kernel is taken, by whom it is predicted to be fastest, and what is said where none fits.
#include "coda/plan/choose.h"

#include <gtest/gtest.h>

#include "coda/catalogue/linear.h"
#include "coda/catalogue/linear_activation.h"
#include "coda/catalogue/linear_rope.h"
#include "coda/catalogue/linear_swiglu.h"
#include "coda/core/error.h"
#include "coda/plan/grid.h"

namespace coda::plan {
namespace {

using catalogue::Activation;
using catalogue::Linear;
using catalogue::LinearActivation;
using catalogue::LinearRope;
using catalogue::LinearSwiglu;
using kernel::kTileConfigs;
using kernel::OperandMajor;

KernelEntry entry(int config, OperandMajor a = OperandMajor::kContraction,
                  OperandMajor b = OperandMajor::kContraction, uint32_t given = 0) {
  KernelEntry result;
  result.config = kTileConfigs[config];
  result.a = a;
  result.b = b;
  result.given = given;
  result.any_columns = config < 2;
  return result;
}

// Addresses do not matter here.
bf16* const kSomewhere = reinterpret_cast<bf16*>(0x10000);

OperandView operand(int64_t rows, int64_t columns, Major major = Major::kRow) {
  const int64_t ld = major == Major::kRow ? columns : rows;
  return Operand<bf16>(Matrix<const bf16>(kSomewhere, rows, columns, ld, major));
}

struct Question {
  ProgramView program;
  Problem problem;
  OperandView a, b;
};

Question linear(int64_t M, int64_t N, int64_t K, Major major_b = Major::kRow) {
  Linear<bf16> program;
  program.out = Matrix<bf16>(kSomewhere, M, N);
  Question result{describe(program), {}, operand(M, K), operand(N, K, major_b)};
  result.problem.rows = {1, {0, M}};
  result.problem.columns = {1, {0, N}};
  result.problem.contraction = {1, {0, K}};
  return result;
}

const KernelEntry& choose(std::span<const KernelEntry> kernels, const Question& q) {
  return choose(kernels, q.program, q.problem, q.a, q.b, Device{132});
}

std::string refusal(std::span<const KernelEntry> kernels, const Question& q) {
  try {
    choose(kernels, q);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Choose, TakesTheMajorsOfTheOperands) {
  const KernelEntry kernels[] = {entry(0),
                                 entry(0, OperandMajor::kContraction, OperandMajor::kRows)};
  EXPECT_EQ(&choose(kernels, linear(512, 512, 512)), &kernels[0]);
  EXPECT_EQ(&choose(kernels, linear(512, 512, 512, Major::kColumn)), &kernels[1]);
}

TEST(Choose, AnEmptyOperandHasEveryMajor) {
  const KernelEntry kernels[] = {entry(0)};
  EXPECT_EQ(&choose(kernels, linear(512, 512, 0, Major::kColumn)), &kernels[0]);
}

TEST(Choose, TakesExactlyTheGivenPorts) {
  constexpr uint32_t kBias = 1 << 3;
  const KernelEntry kernels[] = {
      entry(0), entry(1, OperandMajor::kContraction, OperandMajor::kContraction, kBias)};
  Question q = linear(512, 512, 512);
  EXPECT_EQ(&choose(kernels, q), &kernels[0]);
  q.program.ports[3].given = true;
  EXPECT_EQ(&choose(kernels, q), &kernels[1]);
  q.program.ports[2].given = true;  // c
  const std::string message = refusal(kernels, q);
  EXPECT_NE(
      message.find("linear: no GPU kernel is compiled for bf16 operands, A contraction-major, "
                   "B contraction-major, with c + bias"),
      std::string::npos)
      << message;
  EXPECT_NE(message.find("with c + bias; there are: bf16, A contraction-major, B "
                         "contraction-major, no optional port; bf16"),
            std::string::npos)
      << message;
}

// The usual choice has kernels of its own; one with the branch takes the others.
TEST(Choose, TakesTheKernelOfAChoice) {
  constexpr uint32_t kActivation = 1 << 1;
  const KernelEntry kernels[] = {
      entry(0), entry(1, OperandMajor::kContraction, OperandMajor::kContraction, kActivation)};
  Question q = linear(512, 512, 512);
  q.program = describe(LinearSwiglu<bf16>{});
  EXPECT_EQ(&choose(kernels, q), &kernels[0]);
  q.program.ports[1].choice = 2;
  EXPECT_EQ(&choose(kernels, q), &kernels[1]);
}

// Which one is usual is the port's to say; a kernel with the branch may take that one too.
TEST(Choose, TheUsualChoiceNeedNotBeTheFirst) {
  constexpr uint32_t kActivation = 1 << 5;
  KernelEntry kernels[] = {
      entry(0), entry(1, OperandMajor::kContraction, OperandMajor::kContraction, kActivation)};
  Question q = linear(512, 512, 512);
  q.program = describe(LinearActivation<bf16>{});
  EXPECT_EQ(q.program.ports[5].usual, static_cast<int32_t>(Activation::kGeluTanh));
  EXPECT_EQ(&choose(kernels, q), &kernels[0]);
  q.program.ports[5].choice = 0;
  EXPECT_EQ(&choose(kernels, q), &kernels[1]);
  kernels[1].given = 0;
  kernels[1].either = kActivation;
  EXPECT_EQ(&choose(kernels, q), &kernels[1]);
  q.program.ports[5].choice = static_cast<int32_t>(Activation::kGeluTanh);
  EXPECT_EQ(&choose(std::span(kernels).subspan(1), q), &kernels[1]);
}

TEST(Choose, RefusesTypesAndMixedMajors) {
  const KernelEntry kernels[] = {entry(0)};
  Question q = linear(512, 512, 512);
  q.a.part[0][0].dtype = q.b.part[0][0].dtype = DType::kFp16;
  EXPECT_NE(refusal(kernels, q).find("for fp16 operands"), std::string::npos);
  q = linear(512, 512, 512);
  q.b.segments = 2;
  q.b.cut = Cut::kRows;
  q.b.part[0][1] = operand(512, 512, Major::kColumn).part[0][0];
  EXPECT_NE(refusal(kernels, q).find("B in mixed majors"), std::string::npos);
}

TEST(Choose, RefusesHalvesOfHeads) {
  const KernelEntry kernels[] = {entry(0)};
  Question q = linear(512, 512, 512);
  q.b.head_dim = 64;
  EXPECT_NE(refusal(kernels, q).find("halves of heads"), std::string::npos);
}

// Three weights in halves of heads, frequencies given.
Question rope(int64_t head_dim, int64_t heads) {
  LinearRope<bf16> program;
  program.inv_freq = PerHead<const float>(nullptr, head_dim / 2);
  const auto weight = Matrix<const bf16>(kSomewhere, heads * head_dim, 512);
  Question result{
      describe(program), {}, operand(512, 512), halves(head_dim, weight, weight, weight)};
  const int64_t N = heads * head_dim / 2;
  result.problem.rows = {1, {0, 512}};
  result.problem.columns = {3, {0, N, 2 * N, 3 * N}};
  result.problem.contraction = {1, {0, 512}};
  result.problem.head_dim = head_dim;
  return result;
}

KernelEntry halves_entry(int config, bool groups = false) {
  KernelEntry result = entry(config);
  result.accumulators = 2;
  result.halves = true;
  result.groups = groups;
  result.either = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5;
  return result;
}

TEST(Choose, TakesHeadsThatTilesAndSubTilesHold) {
  const KernelEntry kernels[] = {halves_entry(1), halves_entry(7), halves_entry(8)};
  EXPECT_EQ(&choose(kernels, rope(64, 8)), &kernels[0]);
  EXPECT_EQ(&choose(kernels, rope(128, 8)), &kernels[0]);
  EXPECT_EQ(&choose(kernels, rope(256, 8)), &kernels[0]);  // half of a head's halves
  EXPECT_EQ(&choose(kernels, rope(80, 8)), &kernels[1]);
  EXPECT_EQ(&choose(kernels, rope(240, 8)), &kernels[1]);
  EXPECT_EQ(&choose(kernels, rope(96, 8)), &kernels[2]);
  const std::string message = refusal(kernels, rope(112, 8));
  EXPECT_NE(message.find("linear_rope: argument 'B': expected a head_dim of 64, 80, 96, 128, 160, "
                         "192, 240, 256 on the GPU (pad"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("got 112"), std::string::npos) << message;
}

// A tile of 96 columns of each half, heads of 64: it ends in the middle of one.
TEST(Choose, TilesMayEndWithinHeads) {
  const KernelEntry kernels[] = {halves_entry(2)};
  const Question q = rope(128, 8);
  EXPECT_EQ(&choose(kernels, q), &kernels[0]);
  EXPECT_EQ(make_grid(q.problem, kTileConfigs[2], 2, 66).half_lines, 32);
  const KernelEntry whole[] = {halves_entry(2, true)};
  EXPECT_NE(refusal(whole, q).find("expected a head_dim of 64, 192 on the GPU"), std::string::npos)
      << refusal(whole, q);
}

TEST(Choose, SumsOverHeadsTakeWholeHeads) {
  const KernelEntry kernels[] = {halves_entry(1, true), halves_entry(4, true)};
  EXPECT_EQ(&choose(kernels, rope(256, 8)), &kernels[1]);
}

TEST(Choose, EitherPortsMayBeGivenOrNot) {
  const KernelEntry kernels[] = {halves_entry(1)};
  Question q = rope(128, 8);
  for (const int port : {0, 2, 3, 5}) {
    q.program.ports[static_cast<size_t>(port)].given ^= true;
    EXPECT_EQ(&choose(kernels, q), &kernels[0]) << port;
  }
}

TEST(Choose, TakesRaggedLinesOnlyWhereAKernelDoes) {
  const KernelEntry kernels[] = {entry(2), entry(0)}, wide[] = {entry(2)};
  EXPECT_EQ(&choose(kernels, linear(16384, 4093, 4096)), &kernels[1]);
  const std::string message = refusal(wide, linear(16384, 4093, 4096));
  EXPECT_NE(message.find("lines are multiples of 16 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("got 4093 rows"), std::string::npos) << message;
}

TEST(Choose, IsTheFirstOfEquals) {
  const KernelEntry kernels[] = {entry(0), entry(0)};
  EXPECT_EQ(&choose(kernels, linear(512, 512, 512)), &kernels[0]);
}

TEST(Choose, TakesTheKernelThatIsAskedForWhereItFits) {
  const KernelEntry kernels[] = {entry(0), entry(1), entry(1, OperandMajor::kRows)};
  const Question q = linear(512, 512, 512);
  const LaunchRequest request{nullptr, &q.problem, &q.a, &q.b};
  const auto picked = [&](const KernelEntry* asked) {
    return &pick(asked, kernels, q.program, request, Device{132});
  };
  EXPECT_EQ(picked(nullptr), &choose(kernels, q));
  EXPECT_EQ(picked(&kernels[1]), &kernels[1]);
  EXPECT_THROW(picked(&kernels[2]), Error);
}

TEST(Choose, NamesConfigurations) {
  EXPECT_EQ(config_name(kTileConfigs[2]), "pp128x192_s5_c2x1_n32");
  EXPECT_EQ(config_name(kTileConfigs[5]), "co256x128_s4_c1x2_n32");
  EXPECT_EQ(config_name(kTileConfigs[10]), "pp128x192_s4_c2x1_n32_apart");
}

}  // namespace
}  // namespace coda::plan
