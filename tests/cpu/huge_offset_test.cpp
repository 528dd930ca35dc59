// Offsets beyond 2^31 elements, without the memory: few lines, a huge leading dimension over
// reserved address space. And lines that end or begin at a page which cannot be read: nothing
// outside of a matrix is touched, not even to throw it away.
#include <gtest/gtest.h>

#include "coda/cpu/run.h"
#include "tests/cpu/programs.h"
#include "tests/cpu/reserved.h"

namespace coda::cpu {
namespace {

constexpr int64_t kHuge = (int64_t{1} << 31) + 12345;  // the second line begins beyond 2^31

int64_t a_value(int64_t i, int64_t k) { return (i * 5 + k * 3) % 7 - 3; }
int64_t b_value(int64_t j, int64_t k) { return (j * 2 + k * 7) % 5 - 2; }
int64_t c_value(int64_t i, int64_t j) { return (i + 3 * j) % 9 - 4; }

struct Layout {
  int64_t M, N, K;
  Major a, b;
  int64_t a_ld, b_ld, c_ld, out_ld;
  Edge edge;
};

template <class T>
void check_layout(const Layout& layout) {
  const auto& [M, N, K, a_major, b_major, a_ld, b_ld, c_ld, out_ld, edge] = layout;
  const Reserved<T> a(M, K, a_ld, a_major, edge), b(N, K, b_ld, b_major, edge);
  const Reserved<float> c(M, N, c_ld, Major::kRow, edge), out(M, N, out_ld, Major::kRow, edge);
  if (!a.available() || !b.available() || !c.available() || !out.available()) {
    GTEST_SKIP() << "not enough address space here";
  }
  a.fill(a_value);
  b.fill(b_value);
  c.fill(c_value);
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    out.fill([](int64_t, int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
    run(
        Scaled<float>{
            .alpha = 1.0f, .beta = 2.0f, .c = Matrix<const float>(c.view()), .out = out.view()},
        Operand(a.view()), Operand(b.view()), {.threads = 2, .isa = isa});
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t j = 0; j < N; ++j) {
        int64_t expected = 2 * c_value(i, j);
        for (int64_t k = 0; k < K; ++k) expected += a_value(i, k) * b_value(j, k);
        ASSERT_EQ(out(i, j), static_cast<float>(expected)) << i << ", " << j;
      }
    }
  }
}

template <class T>
class HugeOffsetTest : public testing::Test {};
using OperandTypes = testing::Types<bf16, fp16, float>;
TYPED_TEST_SUITE(HugeOffsetTest, OperandTypes);

TYPED_TEST(HugeOffsetTest, RowsOfA) {
  check_layout<TypeParam>({3, 70, 37, Major::kRow, Major::kRow, kHuge, 0, 0, 0, Edge::kEnd});
}
TYPED_TEST(HugeOffsetTest, ColumnsOfA) {
  check_layout<TypeParam>({35, 70, 5, Major::kColumn, Major::kRow, kHuge, 0, 0, 0, Edge::kEnd});
}
TYPED_TEST(HugeOffsetTest, RowsOfB) {
  check_layout<TypeParam>({35, 3, 37, Major::kRow, Major::kRow, 0, kHuge, 0, 0, Edge::kEnd});
}
TYPED_TEST(HugeOffsetTest, ColumnsOfB) {
  check_layout<TypeParam>({35, 70, 5, Major::kRow, Major::kColumn, 0, kHuge, 0, 0, Edge::kEnd});
}
TYPED_TEST(HugeOffsetTest, PerElementAndStore) {
  check_layout<TypeParam>({3, 70, 9, Major::kRow, Major::kRow, 0, 0, kHuge, 0, Edge::kEnd});
  check_layout<TypeParam>({3, 70, 9, Major::kRow, Major::kRow, 0, 0, 0, kHuge, Edge::kEnd});
}

TYPED_TEST(HugeOffsetTest, NothingBesideTheLinesIsTouched) {
  for (const Edge edge : {Edge::kBegin, Edge::kEnd}) {
    for (const Major a : {Major::kRow, Major::kColumn}) {
      for (const Major b : {Major::kRow, Major::kColumn}) {
        for (const int64_t K : {1, 2, 15, 31, 64})
          check_layout<TypeParam>({65, 67, K, a, b, 0, 0, 0, 0, edge});
        check_layout<TypeParam>({1, 1, 3, a, b, 0, 0, 0, 0, edge});
        check_layout<TypeParam>({16, 130, 33, a, b, 0, 0, 0, 0, edge});
      }
    }
  }
}

// The 64-bit product of line and leading dimension also where partials are written.
TEST(HugeOffsetPartialsTest, RowAndColumnPartials) {
  const int64_t M = 70, N = 130, K = 2;
  Reserved<float> a(M, K, 0, Major::kRow), b(N, K, 0, Major::kRow), out(M, N, 0, Major::kRow);
  Reserved<float> rows(3, M, kHuge, Major::kRow), columns(2, N, kHuge, Major::kRow);
  if (!rows.available() || !columns.available()) GTEST_SKIP() << "not enough address space here";
  a.fill(a_value);
  b.fill(b_value);
  const WithOptional program{
      .scalar = 0.0f, .rows = rows.view(), .columns = columns.view(), .out = out.view()};
  for (const Isa isa : available_isas()) {
    run(program, Operand(a.view()), Operand(b.view()), {.isa = isa});
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t part = 0; part < 3; ++part) {
        float sum = 0;
        for (int64_t j = part * 64; j < std::min(N, part * 64 + 64); ++j) sum += out(i, j);
        ASSERT_EQ(rows(part, i), sum);
      }
    }
    for (int64_t j = 0; j < N; ++j) {
      for (int64_t part = 0; part < 2; ++part) {
        float sum = 0;
        for (int64_t i = part * 64; i < std::min(M, part * 64 + 64); ++i) sum += out(i, j);
        ASSERT_EQ(columns(part, j), sum);
      }
    }
  }
}

}  // namespace
}  // namespace coda::cpu
