// One attention with its tensors, run forward and backward on the CPU. Tensors have room beside
// their lines and guard bands; outputs and the workspace hold NaN before each run.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "coda/attention/cpu.h"
#include "coda/core/random.h"
#include "tests/attention/formula.h"
#include "tests/cpu/tensor.h"

namespace coda::attention {

// Memory at a cache line's beginning, with a guard band behind; all bits set.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)), memory_(bytes_ + kGuard + kWorkspaceAlignment, 0xff) {}

  void* data() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (kWorkspaceAlignment - address % kWorkspaceAlignment);
  }
  bool intact() {
    const auto* const end = static_cast<unsigned char*>(data()) + bytes_;
    return std::all_of(end, end + kGuard, [](unsigned char byte) { return byte == 0xff; });
  }

 private:
  static constexpr size_t kGuard = 256;
  size_t bytes_;
  std::vector<unsigned char> memory_;
};

template <class T>
Array array_of(const cpu::Tensor<T>& tensor) {
  Array result(tensor.rows(), tensor.columns());
  for (int64_t i = 0; i < result.rows; ++i) {
    for (int64_t j = 0; j < result.columns; ++j) result(i, j) = tensor.value(i, j);
  }
  return result;
}

template <class T>
struct Problem {
  explicit Problem(const Shape& shape)
      : shape(shape),
        rows(shape.batch * shape.tokens),
        q(rows, shape.heads * shape.head_dim),
        y(q),
        dy(q),
        dq(q),
        k(rows, shape.kv_heads * shape.head_dim),
        v(k),
        dk(k),
        dv(k),
        lse(shape.heads, rows) {}

  Problem& draw(uint64_t seed, double size = 1) {
    Random random(seed);
    const auto normal = [&](double by) {
      return [&random, by](int64_t, int64_t) { return by * random.normal(); };
    };
    q.fill(normal(size));
    k.fill(normal(size));
    v.fill(normal(1));
    dy.fill(normal(1));
    return *this;
  }

  Forward forward() {
    return {erase(q.view()), erase(k.view()), erase(v.view()), erase(y.view()), erase(lse.view())};
  }
  Backward backward() {
    return {erase(q.view()),  erase(k.view()),   erase(v.view()),
            erase(y.view()),  erase(lse.view()), erase(dy.view()),
            erase(dq.view()), erase(dk.view()),  erase(dv.view())};
  }

  void clear() {
    for (auto* tensor : {&y, &dq, &dk, &dv}) tensor->clear();
    lse.clear();
  }
  // Both ways, from nothing.
  void run(const cpu::Options& options) {
    clear();
    CpuAttention attention(options);
    GuardedWorkspace one(attention.workspace_bytes(shape, dtype_of<T>));
    GuardedWorkspace other = one;
    attention.forward(shape, forward(), one.data());
    attention.backward(shape, backward(), other.data());
    EXPECT_TRUE(one.intact() && other.intact()) << "written beyond the workspace";
    for (auto* tensor : {&y, &dq, &dk, &dv}) {
      EXPECT_TRUE(tensor->intact()) << "written outside";
    }
    EXPECT_TRUE(lse.intact()) << "lse: written outside";
  }

  Inputs inputs() const { return {array_of(q), array_of(k), array_of(v), array_of(dy)}; }
  Outputs outputs() const {
    return {array_of(y), array_of(lse), array_of(dq), array_of(dk), array_of(dv)};
  }
  bool same_bits(const Problem& o) const {
    return q.same_bits(o.q) && k.same_bits(o.k) && v.same_bits(o.v) && dy.same_bits(o.dy) &&
           y.same_bits(o.y) && lse.same_bits(o.lse) && dq.same_bits(o.dq) && dk.same_bits(o.dk) &&
           dv.same_bits(o.dv);
  }

  Shape shape;
  int64_t rows;
  cpu::Tensor<T> q, y, dy, dq, k, v, dk, dv;
  cpu::Tensor<float> lse;
};

inline Shape shape_of(int64_t batch, int64_t tokens, int64_t heads, int64_t kv_heads,
                      int64_t head_dim) {
  return {batch, tokens, heads, kv_heads, head_dim, 1 / std::sqrt(static_cast<float>(head_dim))};
}

inline std::string text_of(const Shape& s) {
  return "batch " + std::to_string(s.batch) + ", tokens " + std::to_string(s.tokens) + ", heads " +
         std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " of " +
         std::to_string(s.head_dim) + ", scale " + std::to_string(s.scale);
}

}  // namespace coda::attention
