// The builders of operands: which tensor lands where.
#include "coda/program/operand.h"

#include <gtest/gtest.h>

namespace coda {
namespace {

bf16 storage[6][1000];

Matrix<const bf16> matrix(int i, int64_t rows, int64_t columns) {
  return {storage[i], rows, columns};
}

void expect_view(const TensorView& view, int i, int64_t rows, int64_t columns) {
  EXPECT_EQ(view.data, storage[i]);
  EXPECT_EQ(view.rows, rows);
  EXPECT_EQ(view.columns, columns);
  EXPECT_EQ(view.dtype, DType::kBf16);
  EXPECT_EQ(view.element_bytes, 2);
}

TEST(OperandTest, OneMatrixIsNotCut) {
  const OperandView one = Operand(matrix(0, 3, 4));
  EXPECT_EQ(one.segments, 1);
  EXPECT_EQ(one.accumulators, 1);
  EXPECT_EQ(one.cut, Cut::kNone);
  EXPECT_EQ(one.head_dim, 0);
  expect_view(one.part[0][0], 0, 3, 4);
}

TEST(OperandTest, WritableMatricesServeAsOperands) {
  const OperandView one = Operand(Matrix<bf16>(storage[1], 5, 2, 9, Major::kColumn));
  EXPECT_EQ(one.part[0][0].major, Major::kColumn);
  EXPECT_EQ(one.part[0][0].ld, 9);
  const OperandView mixed = rows(Matrix<bf16>(storage[0], 1, 2), matrix(1, 3, 2));
  expect_view(mixed.part[0][1], 1, 3, 2);
}

TEST(OperandTest, RowsKeepTheirOrder) {
  const OperandView q = rows(matrix(0, 6, 4), matrix(1, 2, 4), matrix(2, 3, 4));
  EXPECT_EQ(q.segments, 3);
  EXPECT_EQ(q.cut, Cut::kRows);
  EXPECT_EQ(q.accumulators, 1);
  expect_view(q.part[0][0], 0, 6, 4);
  expect_view(q.part[0][1], 1, 2, 4);
  expect_view(q.part[0][2], 2, 3, 4);
}

TEST(OperandTest, ContractionTakesUpToFour) {
  const OperandView k =
      contraction(matrix(0, 5, 1), matrix(1, 5, 2), matrix(2, 5, 3), matrix(3, 5, 4));
  EXPECT_EQ(k.segments, 4);
  EXPECT_EQ(k.cut, Cut::kContraction);
  expect_view(k.part[0][3], 3, 5, 4);
}

TEST(OperandTest, OneSegmentIsNoCut) {
  EXPECT_EQ(rows(matrix(0, 5, 4)).cut, Cut::kNone);
  EXPECT_EQ(contraction(matrix(0, 5, 4)).cut, Cut::kNone);
}

TEST(OperandTest, PairHasOneOperandPerAccumulator) {
  const OperandView p = pair(matrix(0, 7, 4), matrix(1, 7, 4));
  EXPECT_EQ(p.accumulators, 2);
  EXPECT_EQ(p.segments, 1);
  EXPECT_EQ(p.head_dim, 0);
  expect_view(p.part[0][0], 0, 7, 4);
  expect_view(p.part[1][0], 1, 7, 4);
}

TEST(OperandTest, PairOfCutOperands) {
  const OperandView p = pair(contraction(matrix(0, 7, 1), matrix(1, 7, 2)),
                             contraction(matrix(2, 7, 1), matrix(3, 7, 2)));
  EXPECT_EQ(p.accumulators, 2);
  EXPECT_EQ(p.segments, 2);
  EXPECT_EQ(p.cut, Cut::kContraction);
  expect_view(p.part[0][1], 1, 7, 2);
  expect_view(p.part[1][0], 2, 7, 1);
  expect_view(p.part[1][1], 3, 7, 2);
}

TEST(OperandTest, HalvesShareTheirTensors) {
  const OperandView h = halves(4, matrix(0, 16, 3), matrix(1, 8, 3));
  EXPECT_EQ(h.accumulators, 2);
  EXPECT_EQ(h.segments, 2);
  EXPECT_EQ(h.cut, Cut::kRows);
  EXPECT_EQ(h.head_dim, 4);
  for (int i = 0; i < 2; ++i) {
    expect_view(h.part[i][0], 0, 16, 3);
    expect_view(h.part[i][1], 1, 8, 3);
  }
}

}  // namespace
}  // namespace coda
