// Attention turns down what does not fit, before anything is written.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/attention/problem.h"
#include "tests/program/expect_error.h"

namespace coda::attention {
namespace {

using Texts = std::initializer_list<std::string>;

class BadInput : public testing::Test {
 protected:
  struct Call {
    Shape shape;
    Forward forward;
    Backward backward;
    void* workspace;
  };

  BadInput() { problem_.draw(1); }

  // Otherwise right but for what `spoil` changes; forward or backward refuses, or both do.
  void forward_fails(const std::function<void(Call&)>& spoil, Texts texts) {
    Call call = good();
    spoil(call);
    expect_error([&] { attention_.forward(call.shape, call.forward, call.workspace); }, texts);
    expect_untouched();
  }
  void backward_fails(const std::function<void(Call&)>& spoil, Texts texts) {
    Call call = good();
    spoil(call);
    expect_error([&] { attention_.backward(call.shape, call.backward, call.workspace); }, texts);
    expect_untouched();
  }
  void both_fail(const std::function<void(Call&)>& spoil, Texts texts) {
    forward_fails(spoil, texts);
    backward_fails(spoil, texts);
  }
  Call good() {
    return {problem_.shape, problem_.forward(), problem_.backward(), workspace_.data()};
  }
  void expect_untouched() {
    EXPECT_TRUE(problem_.y.untouched() && problem_.lse.untouched());
    EXPECT_TRUE(problem_.dq.untouched() && problem_.dk.untouched() && problem_.dv.untouched());
  }

  Problem<float> problem_{{2, 3, 4, 2, 6, 0.5f}};
  CpuAttention attention_{{.threads = 2}};
  GuardedWorkspace workspace_{attention_.workspace_bytes(problem_.shape, DType::kFp32)};
};

TEST_F(BadInput, TheSameCallUnspoiltWorks) {
  const Call call = good();
  attention_.forward(call.shape, call.forward, call.workspace);
  EXPECT_FALSE(problem_.y.untouched());
  attention_.backward(call.shape, call.backward, call.workspace);
  EXPECT_FALSE(problem_.dq.untouched());
}

TEST_F(BadInput, Shapes) {
  both_fail([](Call& c) { c.shape.kv_heads = 3; },
            {"attention", "'heads'", "a multiple of the 3 kv_heads", "got 4"});
  both_fail([](Call& c) { c.shape.kv_heads = 0; }, {"'kv_heads'", "1 or more", "got 0"});
  both_fail([](Call& c) { c.shape.heads = 0; }, {"'heads'", "1 or more", "got 0"});
  both_fail([](Call& c) { c.shape.heads = -4; }, {"'heads'", "1 or more", "got -4"});
  both_fail([](Call& c) { c.shape.batch = -1; }, {"'batch'", "0 or more", "got -1"});
  both_fail([](Call& c) { c.shape.tokens = -1; }, {"'tokens'", "0 or more", "got -1"});
  both_fail([](Call& c) { c.shape.head_dim = 5; }, {"'head_dim'", "even", "2 to 256", "got 5"});
  both_fail([](Call& c) { c.shape.head_dim = 0; }, {"'head_dim'", "got 0"});
  both_fail([](Call& c) { c.shape.head_dim = 258; }, {"'head_dim'", "got 258"});
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    both_fail([&](Call& c) { c.shape.scale = scale; }, {"'scale'", "a number above 0"});
  }
}

TEST_F(BadInput, NumbersThatOverflow) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  both_fail([](Call& c) { c.shape.tokens = kHuge; }, {"'tokens'", "memory can hold"});
  both_fail([](Call& c) { c.shape.batch = kHuge; }, {"'tokens'", "memory can hold"});
  both_fail([](Call& c) { c.shape.heads = kHuge / 2 * 2; }, {"memory can hold"});
  expect_error([&] { attention_.workspace_bytes({kHuge, kHuge, 2, 1, 64, 1}, DType::kBf16); },
               {"'tokens'", "memory can hold"});
}

TEST_F(BadInput, Extents) {
  both_fail([](Call& c) { c.shape.tokens = 4; }, {"'q'", "[8, 24]", "[6, 24]"});
  both_fail([](Call& c) { c.forward.k.columns = c.backward.k.columns = 24; },
            {"'k'", "[6, 12]", "[6, 24]"});
  both_fail([](Call& c) { c.forward.v.rows = c.backward.v.rows = 5; },
            {"'v'", "[6, 12]", "[5, 12]"});
  both_fail([](Call& c) { c.forward.y.columns = c.backward.y.columns = 12; },
            {"'y'", "[6, 24]", "[6, 12]"});
  both_fail([](Call& c) { c.forward.lse.rows = c.backward.lse.rows = 2; },
            {"'lse'", "[4, 6]", "[2, 6]"});
  backward_fails([](Call& c) { c.backward.dy.rows = 7; },
                 {"attention_backward", "'dy'", "[6, 24]", "[7, 24]"});
  backward_fails([](Call& c) { c.backward.dq.columns = 23; }, {"'dq'", "[6, 24]", "[6, 23]"});
  backward_fails([](Call& c) { c.backward.dk.columns = 24; }, {"'dk'", "[6, 12]", "[6, 24]"});
  backward_fails([](Call& c) { c.backward.dv.columns = 24; }, {"'dv'", "[6, 12]", "[6, 24]"});
}

TEST_F(BadInput, Types) {
  both_fail([](Call& c) { c.forward.q.dtype = c.backward.q.dtype = DType::kFp16; },
            {"'q'", "bf16 or fp32", "fp16"});
  both_fail([](Call& c) { c.forward.k.dtype = c.backward.k.dtype = DType::kBf16; },
            {"'k'", "fp32", "bf16"});
  both_fail([](Call& c) { c.forward.lse.dtype = c.backward.lse.dtype = DType::kBf16; },
            {"'lse'", "fp32", "bf16"});
  backward_fails([](Call& c) { c.backward.dv.dtype = DType::kBf16; }, {"'dv'", "fp32", "bf16"});
  expect_error([&] { attention_.workspace_bytes(problem_.shape, DType::kFp16); },
               {"'type'", "bf16 or fp32", "fp16"});
}

TEST_F(BadInput, Memory) {
  both_fail([](Call& c) { c.forward.q.data = c.backward.q.data = nullptr; },
            {"'q'", "a null pointer"});
  both_fail([](Call& c) { c.forward.k.ld = c.backward.k.ld = 11; },
            {"'k'", "a leading dimension of at least 12", "got 11"});
  both_fail([](Call& c) { c.forward.v.major = c.backward.v.major = Major::kColumn; },
            {"'v'", "row-major"});
  backward_fails([](Call& c) { c.backward.dk.data = nullptr; }, {"'dk'", "a null pointer"});
  both_fail([](Call& c) { c.workspace = nullptr; },
            {"'workspace'",
             std::to_string(attention_.workspace_bytes(problem_.shape, DType::kFp32)) + " bytes",
             "a null pointer"});
  both_fail([](Call& c) { c.workspace = static_cast<char*>(c.workspace) + 4; },
            {"'workspace'", "aligned to 64 bytes"});
}

TEST_F(BadInput, OutputsLieApart) {
  forward_fails([](Call& c) { c.forward.y = c.forward.q; }, {"'y'", "memory apart from 'q'"});
  forward_fails(
      [](Call& c) {
        c.forward.v = c.forward.k = c.forward.y, c.forward.k.columns = 12, c.forward.v.columns = 12;
      },
      {"'y'", "memory apart from 'k'"});
  backward_fails([](Call& c) { c.backward.dq = c.backward.dy; },
                 {"'dq'", "memory apart from 'dy'"});
  backward_fails([](Call& c) { c.backward.dv = c.backward.dk; },
                 {"'dk'", "memory apart from 'dv'"});
  both_fail([](Call& c) { c.forward.lse.data = c.backward.lse.data = c.workspace; },
            {"memory apart from", "'workspace'", "'lse'"});
}

// q, k and v as column ranges of one matrix share no element.
TEST_F(BadInput, ColumnRangesOfOneMatrixAreFine) {
  cpu::Tensor<float> all(6, 24 + 12 + 12);
  all.fill_integers(5);
  const auto part = [&](int64_t column, int64_t columns) {
    return erase(Matrix<float>(all.data() + column, 6, columns, all.view().ld));
  };
  Call call = good();
  call.forward.q = part(0, 24);
  call.forward.k = part(24, 12);
  call.forward.v = part(36, 12);
  attention_.forward(call.shape, call.forward, call.workspace);
  EXPECT_TRUE(problem_.y.intact());
  EXPECT_EQ(problem_.y.value(0, 0), all.value(0, 36));  // the first token sees itself alone
}

TEST(BadOptions, Threads) {
  expect_error([] { CpuAttention({.threads = -1}); }, {"attention", "'threads'", "got -1"});
}

TEST(BadOptions, InstructionSet) {
  expect_error([] { CpuAttention({.isa = static_cast<cpu::Isa>(7)}); },
               {"attention", "'isa'", "available"});
}

}  // namespace
}  // namespace coda::attention
