#include "coda/catalogue/cross_entropy.h"

#include "coda/catalogue/cross_entropy_steps.h"

namespace coda::catalogue {
namespace {

struct CpuExecutor {
  cpu::Options options;

  template <class P>
  void run(const P& program, const OperandView& a, const OperandView& b) const {
    cpu::run(program, a, b, options);
  }
  void run(const row::CrossEntropyLossArguments& arguments) const {
    cpu::cross_entropy_loss(arguments, options);
  }
  void run(const row::CrossEntropyTotalArguments& arguments) const {
    cpu::cross_entropy_total(arguments, options);
  }
  template <class T>
  void run(const row::CrossEntropyGradientArguments<T>& arguments) const {
    cpu::cross_entropy_gradient(arguments, options);
  }
  // Where tensors are, nothing tells the host. What the first GEMM would say comes before row
  // operations have written.
  void check_tensors(const ProgramView& program) const {
    cpu::chosen_isa(program.name.c_str(), options);
  }
  static void check_targets(const int64_t* target, int64_t rows, int64_t vocabulary,
                            int64_t ignore_index) {
    row::check_targets(target, rows, vocabulary, ignore_index);
  }
};

}  // namespace

int64_t cross_entropy_bytes(int64_t M, int64_t V) {
  check_extents(M, V);
  WorkspaceParts parts({});
  parts.take<CrossEntropySums::State<float>>(sum_parts(V), M);
  parts.take<float>(M);
  return parts.bytes();
}

int64_t cross_entropy_with_gradients_bytes(int64_t M, int64_t V, int64_t chunk_rows, DType type) {
  check_extents(M, V);
  check_chunk("chunk_rows", chunk_rows, 1);
  const int64_t most = std::min(chunk_rows, M);
  WorkspaceParts parts({});
  parts.take<std::byte>(most, padded_line(V) * dtype_bytes(type));
  parts.take<CrossEntropySums::State<float>>(sum_parts(V), most);
  parts.take<float>(M);
  parts.take<float>(1);
  return parts.bytes();
}

int64_t cross_entropy_backward_bytes() {
  WorkspaceParts parts({});
  parts.take<float>(1);
  return parts.bytes();
}

int64_t cross_entropy_recompute_bytes(int64_t M, int64_t V, int64_t chunk_columns, DType type) {
  check_extents(M, V);
  check_chunk("chunk_columns", chunk_columns, kSumsWidth);
  WorkspaceParts parts({});
  parts.take<std::byte>(M, padded_line(std::min(chunk_columns, V)) * dtype_bytes(type));
  parts.take<float>(1);
  return parts.bytes();
}

template <class T>
void cross_entropy(const OnCpu& where, const CrossEntropy<T>& problem,
                   const CrossEntropyLoss& outputs, const Matrix<T>& logits,
                   const CrossEntropyWorkspace& workspace) {
  const CpuExecutor executor{where.options};
  checked_steps(executor, problem).forward(outputs, logits, workspace);
}

template <class T>
void cross_entropy_with_gradients(const OnCpu& where, const CrossEntropy<T>& problem,
                                  const CrossEntropyLoss& outputs,
                                  const CrossEntropyGradients<T>& gradients, int64_t chunk_rows,
                                  const CrossEntropyWorkspace& workspace) {
  const CpuExecutor executor{where.options};
  checked_steps(executor, problem).with_gradients(outputs, gradients, chunk_rows, workspace);
}

template <class T>
void cross_entropy_backward(const OnCpu& where, const CrossEntropy<T>& problem, const float* lse,
                            const Matrix<const T>& logits, const Matrix<T>& dz,
                            const CrossEntropyGradients<T>& gradients,
                            const CrossEntropyWorkspace& workspace) {
  const CpuExecutor executor{where.options};
  checked_steps(executor, problem).backward(lse, logits, dz, gradients, workspace);
}

template <class T>
void cross_entropy_recompute(const OnCpu& where, const CrossEntropy<T>& problem, const float* lse,
                             const CrossEntropyGradients<T>& gradients, int64_t chunk_columns,
                             const CrossEntropyWorkspace& workspace) {
  const CpuExecutor executor{where.options};
  checked_steps(executor, problem).recompute(lse, gradients, chunk_columns, workspace);
}

#define CODA_INSTANTIATE(T)                                                                  \
  template void cross_entropy(const OnCpu&, const CrossEntropy<T>&, const CrossEntropyLoss&, \
                              const Matrix<T>&, const CrossEntropyWorkspace&);               \
  template void cross_entropy_with_gradients(                                                \
      const OnCpu&, const CrossEntropy<T>&, const CrossEntropyLoss&,                         \
      const CrossEntropyGradients<T>&, int64_t, const CrossEntropyWorkspace&);               \
  template void cross_entropy_backward(                                                      \
      const OnCpu&, const CrossEntropy<T>&, const float*, const Matrix<const T>&,            \
      const Matrix<T>&, const CrossEntropyGradients<T>&, const CrossEntropyWorkspace&);      \
  template void cross_entropy_recompute(const OnCpu&, const CrossEntropy<T>&, const float*,  \
                                        const CrossEntropyGradients<T>&, int64_t,            \
                                        const CrossEntropyWorkspace&);
CODA_INSTANTIATE(bf16)
CODA_INSTANTIATE(float)
#undef CODA_INSTANTIATE

}  // namespace coda::catalogue
