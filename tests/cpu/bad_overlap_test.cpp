// Outputs that share memory with something else, and those that only seem to.
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

using Case = BadCase<PlainCall>;

const Case kCases[] = {
    {"AInOut",
     [](auto& c) { c.A().data = c.out.data(); },
     {"'out'", "apart from 'A'", "an overlap"}},
    {"BInOut",
     [](auto& c) { c.B().data = c.out.data() + 64; },
     {"'out'", "apart from 'B'", "an overlap"}},
    {"BEndsInOut",
     [](auto& c) { c.B().data = c.out.data() - 20; },
     {"'out'", "apart from 'B'", "an overlap"}},
    {"OutOverRow",
     [](auto& c) { c.program.row = {c.out.data() + 700, 70}; },
     {"'out'", "apart from 'row'"}},
    {"OutOverColumn",
     [](auto& c) { c.program.column = {c.out.data() - 60, 130}; },
     {"'out'", "apart from 'column'"}},
    {"OutOverScalar",
     [](auto& c) { c.program.scalar = static_cast<const float*>(c.out.data() + 129); },
     {"'out'", "apart from 'scalar'"}},
    {"OutOverInteger",
     [](auto& c) { c.program.integer = {reinterpret_cast<const int64_t*>(c.out.data() - 1), 70}; },
     {"'out'", "apart from 'integer'"}},
    {"OutOverPartialsRead",
     [](auto& c) { c.program.rstd.view[0].data = c.out.data() + 1000; },
     {"'out'", "apart from 'rstd'"}},
    {"OutShiftedByOneAgainstElement",
     [](auto& c) { c.program.out.view[0] = {c.element.data() + 1, 70, 130, 135}; },
     {"'out'", "apart from 'element'"}},
    {"OutOneRowDownInElement",
     [](auto& c) { c.program.out.view[0] = {c.element.data() + 135, 70, 130, 135}; },
     {"'out'", "apart from 'element'"}},
    {"OutWithAnotherLeadingDimensionThanElement",
     [](auto& c) { c.program.out.view[0] = {c.element.data(), 70, 130, 130}; },
     {"'out'", "apart from 'element'"}},
    {"CopyIsOut", [](auto& c) { c.program.copy = c.out.view(); }, {"'copy'", "apart from 'out'"}},
    {"CopyEndsInOut",
     [](auto& c) { c.program.copy.view[0] = {c.out.data() + 60, 70, 130, 135}; },
     {"'copy'", "apart from 'out'"}},
    {"RowPartialsOverColumnPartials",
     [](auto& c) { c.program.rows.view[0].data = c.columns.data() + 5; },
     {"'rows'", "apart from 'columns'"}},
    {"RowPartialsInOut",
     [](auto& c) { c.program.rows.view[0].data = c.out.data(); },
     {"'rows'", "apart from 'out'"}},
    {"AInCopy", [](auto& c) { c.A().data = c.copy.data() + 2000; }, {"'copy'", "apart from 'A'"}},
    {"CopyOverElementInPlaceAndOutToo",
     [](auto& c) {
       c.program.copy = c.element.view();
       c.program.out = c.element.view();
     },
     {"'copy'", "apart from 'out'"}},
};

class BadOverlapTest : public testing::TestWithParam<Case> {};
TEST_P(BadOverlapTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadOverlapTest, testing::ValuesIn(kCases), case_name<PlainCall>);

TEST(SharedMemoryTest, ColumnSlicesOfOneMatrix) {
  const int64_t M = PlainCall::M, N = PlainCall::N;
  Tensor<float> wide(M, 2 * N + 5);  // out, copy, and a rest side by side
  PlainCall call;
  call.program.out = Matrix(wide.data(), M, N, wide.view().ld);
  call.program.copy = Matrix(wide.data() + N, M, N, wide.view().ld);
  ASSERT_NO_THROW(call.run());
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) ASSERT_EQ(wide(i, N + j), wide(i, j) + 1);
    for (int64_t j = 2 * N; j < wide.columns(); ++j) ASSERT_TRUE(std::isnan(wide(i, j)));
  }
}

TEST(SharedMemoryTest, InPlaceElement) {
  PlainCall call, apart;
  call.program.out = call.element.view();
  ASSERT_NO_THROW(call.run());
  ASSERT_NO_THROW(apart.run());
  EXPECT_TRUE(call.element.same_bits(apart.out));
}

TEST(SharedMemoryTest, InputsMayShare) {
  PlainCall call;
  call.program.row = {call.element.data(), PlainCall::M};
  call.program.column = {call.element.data() + 10, PlainCall::N};
  EXPECT_NO_THROW(call.run());
}

}  // namespace
}  // namespace coda::cpu
