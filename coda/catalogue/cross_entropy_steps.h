// cross_entropy.h for any executor. Executor: run(program, a, b), check_tensors(all arguments),
// check_targets(problem), and the row operations as run(arguments). Host only.
#pragma once
#include <algorithm>
#include <utility>

#include "coda/catalogue/cross_entropy_check.h"
#include "coda/catalogue/linear.h"
#include "coda/catalogue/linear_cross_entropy.h"
#include "coda/catalogue/linear_cross_entropy_backward.h"
#include "coda/catalogue/linear_weight_grad.h"
#include "coda/rows/cross_entropy_gradient.h"

namespace coda::catalogue {

template <class T, class Executor>
class CrossEntropySteps {
 public:
  // check: of the problem, to be completed by a step's other arguments.
  CrossEntropySteps(const Executor& executor, const CrossEntropy<T>& problem,
                    row::TensorCheck check)
      : executor_(executor), problem_(problem), check_(std::move(check)) {}

  void forward(const CrossEntropyLoss& outputs, const Matrix<T>& logits,
               const CrossEntropyWorkspace& workspace) {
    check_loss(check_, outputs, losses(), M());
    if (logits.data != nullptr) {
      check_.output("logits", erase(logits), {M(), V()}, {dtype_of<T>});
      check_.moved_by_tma();
    }
    check_.workspace({workspace.data, workspace.bytes}, cross_entropy_bytes(M(), V()));
    executor_.check_tensors(check_.finish());
    WorkspaceParts parts(workspace);
    auto* sums = parts.template take<State>(sum_parts(V()), M());
    float* loss = row_losses(outputs, parts);
    loss_of_rows(0, M(), logits, sums, outputs, loss);
    reduce_loss(outputs, loss);
  }

  void with_gradients(const CrossEntropyLoss& outputs, const CrossEntropyGradients<T>& gradients,
                      int64_t chunk_rows, const CrossEntropyWorkspace& workspace) {
    check_chunk("chunk_rows", chunk_rows, 1);
    if (options().reduction == LossReduction::kNone) {
      fail_argument("linear_cross_entropy", "reduction",
                    "sum or mean where gradients are made during the forward (else keep the logits "
                    "or recompute them)",
                    "none");
    }
    check_loss(check_, outputs, losses(), M());
    check_gradients(check_, problem_, gradients, false);
    check_.workspace({workspace.data, workspace.bytes},
                     cross_entropy_with_gradients_bytes(M(), V(), chunk_rows, dtype_of<T>));
    executor_.check_tensors(check_.finish());
    const int64_t most = std::min(chunk_rows, M());
    WorkspaceParts parts(workspace);
    T* logits = parts.template take<T>(most, padded_line(V()));
    auto* sums = parts.template take<State>(sum_parts(V()), most);
    float* loss = parts.template take<float>(M());
    float* scale = parts.template take<float>(1);
    make_scale(gradients, scale);
    int64_t first = 0;
    do {  // without rows too: dweight is written then
      const int64_t rows = std::min(most, M() - first);
      const Matrix<T> dz(logits, rows, V(), padded_line(V()));
      loss_of_rows(first, rows, dz, sums, outputs, loss);
      gradients_of_rows(first, outputs.lse, dz, dz, scale, gradients);
      first += rows;
    } while (first < M());
    reduce_loss(outputs, loss);
  }

  void backward(const float* lse, const Matrix<const T>& logits, const Matrix<T>& dz,
                const CrossEntropyGradients<T>& gradients, const CrossEntropyWorkspace& workspace) {
    check_gradients(check_, problem_, gradients, false);
    check_.input("lse", vector_of(lse, M()), {1, M()}, {DType::kFp32});
    check_.input("logits", erase(logits), {M(), V()}, {dtype_of<T>});
    check_.moved_by_tma();  // or as TMA would
    check_.output("dz", erase(dz), {M(), V()}, {dtype_of<T>}, {"logits"});
    check_.moved_by_tma();
    check_.workspace({workspace.data, workspace.bytes}, cross_entropy_backward_bytes());
    executor_.check_tensors(check_.finish());
    WorkspaceParts parts(workspace);
    float* scale = parts.template take<float>(1);
    make_scale(gradients, scale);
    gradients_of_rows(0, lse, logits, dz, scale, gradients);
  }

  void recompute(const float* lse, const CrossEntropyGradients<T>& gradients, int64_t chunk_columns,
                 const CrossEntropyWorkspace& workspace) {
    check_chunk("chunk_columns", chunk_columns, kSumsWidth);
    check_gradients(check_, problem_, gradients, true);
    check_.input("lse", vector_of(lse, M()), {1, M()}, {DType::kFp32});
    check_.workspace({workspace.data, workspace.bytes},
                     cross_entropy_recompute_bytes(M(), V(), chunk_columns, dtype_of<T>));
    executor_.check_tensors(check_.finish());
    const int64_t most = std::min(chunk_columns, V());
    WorkspaceParts parts(workspace);
    T* memory = parts.template take<T>(M(), padded_line(most));
    float* scale = parts.template take<float>(1);
    make_scale(gradients, scale);
    for (int64_t first = 0; first < V(); first += most) {
      const int64_t columns = std::min(most, V() - first);
      const Matrix<T> dz(memory, M(), columns, padded_line(most));
      const Matrix<const T> weight = lines(problem_.weight, first, columns);
      const Matrix<float> dots = problem_.rstd.given
                                     ? lines(gradients.dots, first / kSumsWidth, sum_parts(columns))
                                     : Matrix<float>();
      make_dz(lse, gradients, scale, first, weight, dz, dots);
      weight_grad(dz, problem_.x, rows_of_dweight(gradients, first, columns),
                  gradients.add_to_dweight);
      input_grad({0, dz, weight, dots, first == 0}, gradients, true);
    }
  }

 private:
  using State = CrossEntropySums::State<float>;

  int64_t M() const { return problem_.x.rows; }
  int64_t V() const { return problem_.weight.rows; }
  const CrossEntropyOptions& options() const { return problem_.options; }

  template <class E>
  static Matrix<E> lines(const Matrix<E>& matrix, int64_t first, int64_t count) {
    return {matrix.data + first * matrix.ld, count, matrix.columns, matrix.ld};
  }
  static Matrix<float> rows_of_dweight(const CrossEntropyGradients<T>& gradients, int64_t first,
                                       int64_t count) {
    return wanted(gradients.dweight) ? lines(gradients.dweight, first, count) : Matrix<float>();
  }
  PerRowFrom<ReciprocalRms> rstd_of(int64_t first, int64_t rows) const {
    if (!problem_.rstd.given) return {};
    const auto& view = problem_.rstd.view[0];
    return {{view.data + first, view.rows, rows, view.ld}, problem_.rstd.finish};
  }

  // The loss of each row: what the caller asks for, or the way to its sum.
  float* row_losses(const CrossEntropyLoss& outputs, WorkspaceParts& parts) const {
    float* loss = parts.template take<float>(M());
    return options().reduction == LossReduction::kNone ? outputs.loss : loss;
  }

  void loss_of_rows(int64_t first, int64_t rows, const Matrix<T>& logits, State* sums,
                    const CrossEntropyLoss& outputs, float* loss) const {
    LinearCrossEntropy<T> program;
    program.rstd = rstd_of(first, rows);
    program.target = PerRow<const int64_t>(problem_.target + first, rows);
    program.soft_cap = options().soft_cap;
    program.capped = 0;
    if (logits.data != nullptr) program.logits = Store<T>(logits);
    const Matrix<State> partials(sums, sum_parts(V()), rows);
    program.sums = partials;
    executor_.run(program, Operand<T>(lines(problem_.x, first, rows)), Operand<T>(problem_.weight));
    executor_.run(row::CrossEntropyLossArguments{
        partials, problem_.target + first, V(), options().ignore_index, options().z_loss,
        options().smoothing, outputs.lse + first, loss + first, outputs.error});
  }

  void reduce_loss(const CrossEntropyLoss& outputs, const float* loss) const {
    if (options().reduction == LossReduction::kNone) return;
    row::CrossEntropyTotalArguments total = total_arguments();
    total.loss = loss;
    total.total = outputs.loss;
    executor_.run(total);
  }

  // The factor of every row's gradient; with one for each row, 1.
  void make_scale(const CrossEntropyGradients<T>& gradients, float* scale) const {
    row::CrossEntropyTotalArguments total = total_arguments();
    total.dloss = each_row() ? nullptr : gradients.dloss;
    total.scale = scale;
    executor_.run(total);
  }
  row::CrossEntropyTotalArguments total_arguments() const {
    row::CrossEntropyTotalArguments total;
    total.target = problem_.target;
    total.rows = M();
    total.ignore_index = options().ignore_index;
    total.mean = options().reduction == LossReduction::kMean;
    return total;
  }
  bool each_row() const { return options().reduction == LossReduction::kNone; }
  int64_t losses() const { return each_row() ? M() : 1; }

  // From stored logits, of rows from `first` on.
  void gradients_of_rows(int64_t first, const float* lse, const Matrix<const T>& logits,
                         const Matrix<T>& dz, const float* scale,
                         const CrossEntropyGradients<T>& gradients) const {
    const int64_t rows = logits.rows;
    const Matrix<float> dots =
        problem_.rstd.given ? Matrix<float>(gradients.dots.data + first, 1, rows) : Matrix<float>();
    executor_.run(row::CrossEntropyGradientArguments<T>{
        logits, problem_.target + first, lse + first, rstd_of(first, rows),
        each_row() ? gradients.dloss + first : nullptr, scale, options().soft_cap, options().z_loss,
        options().smoothing, options().ignore_index, dz, dots.data});
    input_grad({first, dz, problem_.weight, dots, true}, gradients, false);
    weight_grad(dz, lines(problem_.x, first, rows), gradients.dweight,
                gradients.add_to_dweight || first > 0);
  }

  void make_dz(const float* lse, const CrossEntropyGradients<T>& gradients, const float* scale,
               int64_t first, const Matrix<const T>& weight, const Matrix<T>& dz,
               const Matrix<float>& dots) const {
    LinearCrossEntropyBackward<T> program;
    program.rstd = problem_.rstd;
    program.target = PerRow<const int64_t>(problem_.target, M());
    program.lse = PerRow<const float>(lse, M());
    if (each_row()) program.dloss = PerRow<const float>(gradients.dloss, M());
    program.scale = scale;
    program.soft_cap = options().soft_cap;
    program.z_loss = options().z_loss;
    program.on_target = 1 - options().smoothing;
    program.elsewhere = options().smoothing / static_cast<float>(V());
    program.ignore_index = options().ignore_index;
    program.first_column = static_cast<int32_t>(first);
    program.out = dz;
    if (problem_.rstd.given) program.dots = RowReduce<Sum, 128>(dots);
    executor_.run(program, Operand<T>(problem_.x), Operand<T>(weight));
  }

  // adds: in fp32, to what the steps before have left.
  void input_grad(const InputGradStep<T>& step, const CrossEntropyGradients<T>& gradients,
                  bool adds) const {
    if (gradients.input_grad) return gradients.input_grad(step);
    if (!(adds ? wanted(gradients.dx_sum) : wanted(gradients.dx))) return;
    if (adds) {
      Linear<float> program;
      if (!step.first) program.c = PerElement<const float>(Matrix<const float>(gradients.dx_sum));
      program.out = gradients.dx_sum;
      executor_.run(program, Operand<T>(step.dz), Operand<T>(step.weight.transposed()));
    } else {
      Linear<T> program;
      program.out = lines(gradients.dx, step.first_row, step.dz.rows);
      executor_.run(program, Operand<T>(step.dz), Operand<T>(step.weight.transposed()));
    }
  }

  void weight_grad(const Matrix<const T>& dz, const Matrix<const T>& x,
                   const Matrix<float>& dweight, bool adds) const {
    if (!wanted(dweight)) return;
    LinearWeightGrad<float> program;
    if (adds) program.c = PerElement<const float>(Matrix<const float>(dweight));
    program.out = dweight;
    executor_.run(program, Operand<T>(dz.transposed()), Operand<T>(x.transposed()));
  }

  const Executor& executor_;
  const CrossEntropy<T>& problem_;
  row::TensorCheck check_;
};

// Once the problem is checked; on the host, its targets too.
template <class T, class Executor>
CrossEntropySteps<T, Executor> checked_steps(const Executor& executor,
                                             const CrossEntropy<T>& problem) {
  row::TensorCheck check = check_problem(problem);
  executor.check_targets(problem.target, problem.x.rows, problem.weight.rows,
                         problem.options.ignore_index);
  return {executor, problem, std::move(check)};
}

}  // namespace coda::catalogue
