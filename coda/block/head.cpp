#include "coda/block/head.h"

#include "coda/block/call.h"
#include "coda/block/sizes.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#endif

namespace coda::block {
namespace {

template <class T>
Matrix<T> matrix(const TensorView& view) {
  return {static_cast<T*>(const_cast<void*>(view.data)), view.rows, view.columns, view.ld,
          view.major};
}
template <class T>
T* values(const TensorView& view) {
  return static_cast<T*>(const_cast<void*>(view.data));
}

void call(const catalogue::OnCpu& where, const catalogue::Variant& variant,
          const catalogue::Call& call) {
  variant.run_cpu(call, where.options);
}
#if defined(CODA_HAS_CUDA)
void call(const catalogue::OnCuda& where, const catalogue::Variant& variant,
          const catalogue::Call& call) {
  variant.run_cuda(call, where.target);
}
#endif

// The gradient by the stream of the rows of one chunk, and dγ's partials of them.
template <class Where, class T>
void norm_backward(const Where& where, const HeadNode& node,
                   const catalogue::InputGradStep<T>& step) {
  const int64_t first = step.first_row, rows = step.dz.rows;
  const HeadNode::Norm& norm = node.norm;
  const auto width = static_cast<double>(norm.stream.columns);
  TensorView squares = norm.squares;  // [parts, M]: some of its columns
  squares.data = static_cast<const float*>(squares.data) + first;
  squares.columns = rows;
  const catalogue::Operation& operation = catalogue::find_operation("linear_norm_backward");
  const std::string variant = std::string("kept-") + dtype_name(dtype_of<T>);
  call(where, catalogue::find_variant(operation, variant),
       {operand(erase(step.dz)),
        operand(transpose(erase(step.weight))),
        {port("rstd", squares), number("rstd.width", width), number("rstd.epsilon", norm.epsilon),
         port("x", rows_of(norm.stream, first, rows)), port("dots", erase(step.dots)),
         number("dots.width", width), port("dx", rows_of(node.dx, first, rows)),
         port("gamma", norm.gamma),
         port("dgamma", rows_of(norm.dgamma, first / kPartialWidth, partials(rows)))}});
}

template <class T, class Where>
void run(const Where& where, const HeadNode& node,
         const catalogue::CrossEntropyWorkspace& workspace) {
  catalogue::CrossEntropy<T> problem;
  problem.x = matrix<const T>(node.x);
  problem.weight = matrix<const T>(node.weight);
  problem.target = values<const int64_t>(node.targets);
  if (node.normalises()) {
    problem.rstd = {matrix<const float>(node.norm.squares),
                    {static_cast<float>(node.x.columns), static_cast<float>(node.norm.epsilon)}};
  }
  const catalogue::CrossEntropyLoss outputs = {values<float>(node.loss), values<float>(node.lse)};
  if (!node.with_gradients) {
    catalogue::cross_entropy(where, problem, outputs, Matrix<T>(), workspace);
    return;
  }
  catalogue::CrossEntropyGradients<T> gradients;
  gradients.dloss = values<const float>(node.dloss);
  gradients.dweight = matrix<float>(node.dweight);
  gradients.add_to_dweight = node.add_to_dweight;
  if (node.normalises()) {
    gradients.dots = matrix<float>(node.norm.dots);
    gradients.input_grad = [&](const catalogue::InputGradStep<T>& step) {
      norm_backward(where, node, step);
    };
  } else {
    gradients.dx = matrix<T>(node.dx);
  }
  catalogue::cross_entropy_with_gradients(where, problem, outputs, gradients, node.chunk_rows,
                                          workspace);
}

}  // namespace

int64_t head_workspace_bytes(const HeadNode& node) {
  const int64_t M = node.x.rows, V = node.weight.rows;
  return node.with_gradients
             ? catalogue::cross_entropy_with_gradients_bytes(M, V, node.chunk_rows, node.x.dtype)
             : catalogue::cross_entropy_bytes(M, V);
}

void run_head(const catalogue::OnCpu& where, const HeadNode& node,
              const catalogue::CrossEntropyWorkspace& workspace) {
  if (node.x.dtype == DType::kBf16) {
    run<bf16>(where, node, workspace);
  } else {
    run<float>(where, node, workspace);
  }
}

#if defined(CODA_HAS_CUDA)
void run_head(const catalogue::OnCuda& where, const HeadNode& node,
              const catalogue::CrossEntropyWorkspace& workspace) {
  run<bf16>(where, node, workspace);
}
#endif

}  // namespace coda::block
