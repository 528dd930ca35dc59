// The weight-gradient kernel in the simulator, its contraction cut into a number of slices; outputs
// and workspace with guard bands.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "coda/catalogue/linear_weight_grad.h"
#include "coda/plan/sim_launch.h"

namespace coda::sim_test {

using Program = catalogue::LinearWeightGrad<float>;

struct SlicedProblem {
  int64_t M, N;
  std::vector<int64_t> depths;  // of the contraction's segments
  int slices;
  bool adds = false;  // c, in the memory of out
  bool integers = false;
  int clusters = 1;     // that the grid is made for
  uint32_t cut = 1000;  // tiles, the last ones, that are sliced: here all
};

template <class K>
class SlicedKernel {
 public:
  explicit SlicedKernel(const SlicedProblem& problem)
      : problem_(problem), out_(2 * kGuard + problem.M * pitch()) {
    fill(a_, problem.M);
    fill(b_, problem.N);
    for (float& value : c_) value = draw();
  }

  // The outputs, line by line; throws sim::Failure.
  std::vector<float> run(const sim::LaunchOptions& options) {
    Program program;
    const Matrix<float> out(out_.data() + kGuard, problem_.M, problem_.N, pitch());
    program.out = out;
    if (problem_.adds) program.c = Matrix<const float>(out);
    std::ranges::fill(out_, kPoison);
    for (int64_t m = 0; problem_.adds && m < problem_.M; ++m) {
      std::copy_n(c_.begin() + m * problem_.N, problem_.N, &out.data[m * pitch()]);
    }
    const OperandView a = operand(a_, problem_.M), b = operand(b_, problem_.N);
    const Problem validated = validate(describe(program), a, b);
    const kernel::Grid grid =
        plan::make_grid(validated, K::kTile, 1, problem_.clusters, {problem_.slices, problem_.cut});
    const plan::WorkspaceLayout layout = plan::workspace_layout(plan::slice_space_of<K>(), grid);
    const auto words = static_cast<size_t>(layout.bytes() / 4);
    std::vector<float> workspace(words + 2 * kGuard, kPoison);
    auto arguments = plan::make_arguments<K>(program, validated, a, b, grid, sim::encode_request);
    arguments.workspace = layout.at(aligned(workspace));
    std::memset(arguments.workspace.counters, 0, static_cast<size_t>(layout.counter_bytes));
    report =
        sim::launch(static_cast<int>(grid.clusters) * K::kCluster, K::kCluster, kernel::kThreads,
                    K::kSharedBytes, kernel::gemm_block<K>, arguments, options);
    expect_guarded(workspace, aligned(workspace), words);
    return collect();
  }

  // Of one segment of the contraction alone, in one slice.
  std::vector<float> run_segment(size_t segment, const sim::LaunchOptions& options) {
    SlicedKernel alone(*this);
    alone.problem_.depths = {problem_.depths[segment]};
    alone.problem_.slices = 1;
    alone.a_ = {a_[segment]};
    alone.b_ = {b_[segment]};
    return alone.run(options);
  }

  double exact(int64_t m, int64_t n) const {
    double sum = problem_.adds ? c_[static_cast<size_t>(m * problem_.N + n)] : 0;
    for (size_t s = 0; s < a_.size(); ++s) {
      for (int64_t k = 0; k < problem_.depths[s]; ++k) {
        sum += double{to_float(a_[s][static_cast<size_t>(k * padded(problem_.M) + m)])} *
               to_float(b_[s][static_cast<size_t>(k * padded(problem_.N) + n)]);
      }
    }
    return sum;
  }

  sim::Report report;

 private:
  using Operands = std::vector<std::vector<bf16>>;  // by segment: [depth][rows, padded]
  static constexpr int64_t kGuard = 64;
  static constexpr float kPoison = -12345.0f;

  static int64_t padded(int64_t rows) { return (rows + 7) / 8 * 8; }
  int64_t pitch() const { return padded(problem_.N) + 8; }

  float draw() {
    state_ = state_ * 1664525 + 1013904223;
    const auto bits = static_cast<int>(state_ >> 16);
    return problem_.integers ? static_cast<float>(bits % 7 - 3)
                             : static_cast<float>(bits - 32768) / 32768.0f;
  }
  void fill(Operands& operand, int64_t rows) {
    for (const int64_t depth : problem_.depths) {
      operand.emplace_back(static_cast<size_t>(depth * padded(rows)));
      for (bf16& value : operand.back()) value = from_float<bf16>(draw());
    }
  }
  OperandView operand(const Operands& values, int64_t rows) const {
    OperandView view;
    view.segments = static_cast<int>(values.size());
    view.cut = view.segments > 1 ? Cut::kContraction : Cut::kNone;
    for (size_t s = 0; s < values.size(); ++s) {
      view.part[0][s] = erase(Matrix<const bf16>(values[s].data(), rows, problem_.depths[s],
                                                 padded(rows), Major::kColumn));
    }
    return view;
  }

  static float* aligned(std::vector<float>& workspace) {
    const auto address = reinterpret_cast<uintptr_t>(workspace.data() + 4);
    return workspace.data() + 4 + (64 - address % 64) % 64 / 4;
  }
  static void expect_guarded(const std::vector<float>& memory, const float* begin, size_t words) {
    const auto before = static_cast<size_t>(begin - memory.data());
    for (size_t i = 0; i < memory.size(); ++i) {
      if (i >= before && i < before + words) continue;
      ASSERT_EQ(memory[i], kPoison) << "beside the workspace, at " << i;
    }
  }
  std::vector<float> collect() const {
    std::vector<float> result;
    for (int64_t i = 0; i < static_cast<int64_t>(out_.size()); ++i) {
      const int64_t inside = i - kGuard, column = inside % pitch();
      const bool element = inside >= 0 && inside < problem_.M * pitch() && column < problem_.N;
      if (element) {
        result.push_back(out_[static_cast<size_t>(i)]);
      } else {
        EXPECT_EQ(out_[static_cast<size_t>(i)], kPoison) << "beside the output, at " << i;
      }
    }
    return result;
  }

  SlicedProblem problem_;
  uint32_t state_ = 12345;
  Operands a_, b_;
  std::vector<float> c_ = std::vector<float>(static_cast<size_t>(problem_.M * problem_.N));
  std::vector<float> out_;
};

}  // namespace coda::sim_test
