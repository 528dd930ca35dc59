// Attention on the CPU where little is left of it, and with NaN; small enough for the sanitizers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "coda/attention/cpu.h"
#include "tests/attention/problem.h"

namespace coda::attention {
namespace {

template <class T>
class AttentionEdgesOf : public testing::Test {};
using Types = testing::Types<bf16, float>;
TYPED_TEST_SUITE(AttentionEdgesOf, Types);

// A query that sees itself alone: p is exactly 1, and nothing depends on q and k.
TYPED_TEST(AttentionEdgesOf, OneTokenIsExact) {
  Shape shape = shape_of(3, 1, 4, 2, 18);
  shape.scale = 0.5f;
  Problem<TypeParam> problem(shape);
  problem.q.fill_integers(1);
  problem.k.fill_integers(2);
  problem.v.fill_integers(3);
  problem.dy.fill_integers(4);
  for (const cpu::Isa isa : cpu::available_isas()) {
    problem.run({.isa = isa});
    const Outputs want = formula(shape, problem.inputs(), exact()), got = problem.outputs();
    EXPECT_EQ(got.y, want.y);
    EXPECT_EQ(got.lse, want.lse);
    EXPECT_EQ(got.dq, want.dq);
    EXPECT_EQ(got.dk, want.dk);
    EXPECT_EQ(got.dv, want.dv);
  }
}

TYPED_TEST(AttentionEdgesOf, NothingToDo) {
  for (const Shape& shape : {shape_of(0, 5, 2, 1, 8), shape_of(2, 0, 2, 1, 8)}) {
    CpuAttention attention;
    EXPECT_EQ(attention.workspace_bytes(shape, dtype_of<TypeParam>), 0);
    Problem<TypeParam> problem(shape);
    attention.forward(shape, problem.forward(), nullptr);
    attention.backward(shape, problem.backward(), nullptr);
    EXPECT_TRUE(problem.y.untouched() && problem.lse.untouched() && problem.dq.untouched());
  }
}

// A NaN in one query of one head makes its row NaN there, and no other.
TYPED_TEST(AttentionEdgesOf, NanStaysInItsRow) {
  const Shape shape = shape_of(2, 150, 2, 1, 16);
  Problem<TypeParam> problem(shape);
  problem.draw(11);
  problem.q.set(77, 3, std::nan(""));
  for (const cpu::Isa isa : cpu::available_isas()) {
    problem.run({.threads = 2, .isa = isa});
    for (int64_t i = 0; i < problem.rows; ++i) {
      for (int64_t j = 0; j < shape.heads * shape.head_dim; ++j) {
        const bool nan = i == 77 && j < shape.head_dim;
        EXPECT_EQ(std::isnan(problem.y.value(i, j)), nan) << i << ", " << j;
        EXPECT_EQ(std::isnan(problem.lse.value(j / shape.head_dim, i)), nan) << i << ", " << j;
      }
    }
  }
}

// Also where the attention is older than the process: gcc's OpenMP would wait for threads that the
// child does not have.
TEST(AttentionEdges, RunsInAForkedProcess) {
  const Shape shape = shape_of(2, 150, 2, 1, 16);
  Problem<float> problem(shape);
  problem.draw(5);
  CpuAttention attention({.threads = 2});
  GuardedWorkspace workspace(attention.workspace_bytes(shape, DType::kFp32));
  attention.forward(shape, problem.forward(), workspace.data());
  const Array before = array_of(problem.y);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    problem.clear();
    attention.forward(shape, problem.forward(), workspace.data());
    attention.backward(shape, problem.backward(), workspace.data());
    _exit(array_of(problem.y) == before && !problem.dq.untouched() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace coda::attention
