#include "coda/core/view.h"

#include <gtest/gtest.h>

#include "coda/core/error.h"

namespace coda {
namespace {

TEST(MatrixTest, LeadingDimensionDefaultsToTheColumns) {
  float data[12] = {};
  const Matrix<float> m(data, 3, 4);
  EXPECT_EQ(m.ld, 4);
  EXPECT_EQ(m.major, Major::kRow);
}

TEST(MatrixTest, TransposedTwiceIsTheSame) {
  float data[30] = {};
  const Matrix<float> m(data, 3, 4, 10);
  const Matrix<float> t = m.transposed();
  EXPECT_EQ(t.data, data);
  EXPECT_EQ(t.rows, 4);
  EXPECT_EQ(t.columns, 3);
  EXPECT_EQ(t.ld, 10);
  EXPECT_EQ(t.major, Major::kColumn);
  EXPECT_EQ(t.transposed().major, Major::kRow);
  EXPECT_EQ(t.transposed().rows, 3);
}

TEST(MatrixTest, BecomesAViewToReadWithAllItsMembers) {
  bf16 data[30] = {};
  const Matrix<const bf16> m = Matrix<bf16>(data, 4, 3, 7, Major::kColumn);
  EXPECT_EQ(m.data, data);
  EXPECT_EQ(m.rows, 4);
  EXPECT_EQ(m.columns, 3);
  EXPECT_EQ(m.ld, 7);
  EXPECT_EQ(m.major, Major::kColumn);
  static_assert(!std::is_convertible_v<Matrix<const bf16>, Matrix<bf16>>);
}

TEST(TensorViewTest, ErasedMatrixKeepsTypeAndLines) {
  int64_t data[30] = {};
  const TensorView row = erase(Matrix<int64_t>(data, 3, 4, 9));
  EXPECT_EQ(row.data, data);
  EXPECT_EQ(row.dtype, DType::kInt64);
  EXPECT_EQ(row.element_bytes, 8);
  EXPECT_EQ(row.ld, 9);
  EXPECT_EQ(row.line(), 4);
  EXPECT_EQ(row.lines(), 3);
  const TensorView column = erase(Matrix<int64_t>(data, 3, 4, 9, Major::kColumn));
  EXPECT_EQ(column.line(), 3);
  EXPECT_EQ(column.lines(), 4);
}

TEST(TensorViewTest, EmptyInEitherDirection) {
  EXPECT_TRUE(erase(Matrix<float>(nullptr, 0, 4)).empty());
  EXPECT_TRUE(erase(Matrix<float>(nullptr, 4, 0)).empty());
  float one = 0;
  EXPECT_FALSE(erase(Matrix<float>(&one, 1, 1)).empty());
}

TEST(ErrorTest, SaysOperationArgumentExpectedAndGot) {
  try {
    fail_argument("linear", "bias", "8 values [N]", "7");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "linear: argument 'bias': expected 8 values [N], got 7");
  }
}

}  // namespace
}  // namespace coda
