// Extents of a problem from its operands, and what its ports must have.
#include "coda/program/problem.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/program/expect_error.h"

namespace coda {
namespace {

struct Plain {
  Store<bf16> out;
  static constexpr auto port_names = names("out");
};
struct Halved {
  Paired<Store<bf16>> out;
  static constexpr auto port_names = names("out");
  static constexpr int accumulators = 2;
};

std::vector<bf16> memory(1 << 20);
bf16* place(int i) { return memory.data() + i * 100000; }

TEST(ProblemTest, ExtentsOfPlainOperands) {
  const Problem problem =
      validate(describe(Plain{.out = Matrix(place(2), 5, 7)}), Operand(Matrix(place(0), 5, 3)),
               Operand(Matrix(place(1), 7, 3)));
  EXPECT_EQ(problem.M(), 5);
  EXPECT_EQ(problem.N(), 7);
  EXPECT_EQ(problem.K(), 3);
  EXPECT_EQ(problem.rows.count, 1);
  EXPECT_EQ(problem.columns.count, 1);
  EXPECT_EQ(problem.contraction.count, 1);
}

TEST(ProblemTest, SegmentsAddUp) {
  const OperandView a = Operand(Matrix(place(0), 5, 3));
  const OperandView b =
      rows(Matrix(place(1), 70, 3), Matrix(place(2), 0, 3), Matrix(place(3), 9, 3));
  const Problem problem = validate(describe(Plain{.out = Matrix(place(4), 5, 79)}), a, b);
  EXPECT_EQ(problem.N(), 79);
  ASSERT_EQ(problem.columns.count, 3);
  EXPECT_EQ(problem.columns.begin[1], 70);
  EXPECT_EQ(problem.columns.size(1), 0);
  EXPECT_EQ(problem.columns.size(2), 9);
}

TEST(ProblemTest, ContractionIsCutAlike) {
  const OperandView a = contraction(Matrix(place(0), 5, 3), Matrix(place(1), 5, 4));
  const OperandView b = contraction(Matrix(place(2), 7, 3), Matrix(place(3), 7, 4));
  const Problem problem = validate(describe(Plain{.out = Matrix(place(4), 5, 7)}), a, b);
  EXPECT_EQ(problem.K(), 7);
  EXPECT_EQ(problem.contraction.count, 2);
}

TEST(ProblemTest, HalvesGiveHalfTheColumns) {
  const OperandView b = halves(4, Matrix(place(1), 12, 3), Matrix(place(2), 8, 3));
  const Problem problem = validate(describe(Halved{.out = Matrix(place(4), 5, 20)}),
                                   Operand(Matrix(place(0), 5, 3)), b);
  EXPECT_EQ(problem.N(), 10);
  EXPECT_EQ(problem.columns.size(0), 6);
  EXPECT_EQ(problem.head_dim, 4);
}

TEST(ProblemTest, EmptyProblemsAreValid) {
  const bf16* none = nullptr;
  for (const auto& [M, N, K] : {std::array{0, 7, 3}, {5, 0, 3}, {5, 7, 0}, {0, 0, 0}}) {
    const Matrix<const bf16> a(M * K == 0 ? none : place(0), M, K),
        b(N * K == 0 ? none : place(1), N, K);
    const Plain program{.out = Matrix(M * N == 0 ? nullptr : place(2), M, N)};
    EXPECT_NO_THROW(validate(describe(program), Operand(a), Operand(b))) << M << N << K;
  }
}

TEST(ProblemTest, SegmentsStartNewPartials) {
  EXPECT_EQ(partial_count({1, {0, 0}}, 64), 0);
  EXPECT_EQ(partial_count({1, {0, 1}}, 64), 1);
  EXPECT_EQ(partial_count({1, {0, 64}}, 64), 1);
  EXPECT_EQ(partial_count({1, {0, 65}}, 64), 2);
  EXPECT_EQ(partial_count({1, {0, 65}}, 128), 1);
  EXPECT_EQ(partial_count({3, {0, 70, 70, 79}}, 64), 3);
}

TEST(ProblemTest, ExpectedExtentOfEveryKind) {
  Problem problem;
  problem.rows = {1, {0, 130}};
  problem.columns = {2, {0, 70, 100}};
  problem.contraction = {1, {0, 8}};
  const auto extent = [&](PortKind kind, int segments, int segment, bool paired = false) {
    PortView port;
    port.kind = kind;
    port.segments = segments;
    port.paired = paired;
    port.partial_width = 64;
    const Extent e = expected_extent(port, problem, segment);
    return std::pair(e.rows, e.columns);
  };
  using Shape = std::pair<int64_t, int64_t>;
  EXPECT_EQ(extent(PortKind::kPerRow, 1, 0), Shape(1, 130));
  EXPECT_EQ(extent(PortKind::kPerColumn, 1, 0), Shape(1, 100));
  EXPECT_EQ(extent(PortKind::kPerColumn, 2, 1), Shape(1, 30));
  EXPECT_EQ(extent(PortKind::kPerElement, 1, 0), Shape(130, 100));
  EXPECT_EQ(extent(PortKind::kStore, 2, 0), Shape(130, 70));
  EXPECT_EQ(extent(PortKind::kStore, 2, 1, true), Shape(130, 60));
  EXPECT_EQ(extent(PortKind::kRowReduce, 1, 0), Shape(3, 130));
  EXPECT_EQ(extent(PortKind::kColumnReduce, 1, 0), Shape(3, 100));
  EXPECT_EQ(extent(PortKind::kPerRowFrom, 1, 0).second, 130);
}

enum class Way { kPlain, kTwice };
struct Chooses {
  Choice<Way, Way::kTwice> way;
  Store<bf16> out;
  static constexpr const char* name = "chooses";
  static constexpr auto port_names = names("way", "out");
};

TEST(ProblemTest, MissingChoiceSaysWhichThereAre) {
  const Chooses program{.way = {}, .out = Matrix(place(2), 5, 7)};
  expect_error(
      [&] {
        validate(describe(program), Operand(Matrix(place(0), 5, 3)),
                 Operand(Matrix(place(1), 7, 3)));
      },
      {"chooses: argument 'way': expected a Choice, 0 to 1, got nothing (it is missing)"});
}

TEST(ProblemTest, RowSegmentsCutRowPorts) {
  Problem problem;
  problem.rows = {2, {0, 5, 12}};
  problem.columns = {1, {0, 3}};
  PortView port;
  port.kind = PortKind::kPerRow;
  port.segments = 2;
  EXPECT_EQ(expected_extent(port, problem, 1).columns, 7);
  port.kind = PortKind::kStore;
  EXPECT_EQ(expected_extent(port, problem, 0).rows, 5);
  EXPECT_EQ(expected_extent(port, problem, 1).rows, 7);
  EXPECT_EQ(expected_extent(port, problem, 1).columns, 3);
}

}  // namespace
}  // namespace coda
