// cross_entropy.h on the GPU, in builds that have it.
#if defined(CODA_HAS_CUDA)
#include "coda/catalogue/cross_entropy_steps.h"
#include "coda/plan/cuda.h"

namespace coda::catalogue {
namespace {

// Of the target: device and stream. Kernels are chosen step by step, contractions stay whole.
class CudaExecutor {
 public:
  explicit CudaExecutor(const OnCuda& where) : current_(where.target.device) {
    target_.device = where.target.device;
    target_.stream = where.target.stream;
  }

  template <class P>
  void run(const P& program, const OperandView& a, const OperandView& b) const {
    cuda::run(program, a, b, target_);
  }
  void run(const row::CrossEntropyLossArguments& arguments) const {
    cuda::cross_entropy_loss(arguments, target_.stream);
  }
  void run(const row::CrossEntropyTotalArguments& arguments) const {
    cuda::cross_entropy_total(arguments, target_.stream);
  }
  void run(const row::CrossEntropyGradientArguments<bf16>& arguments) const {
    cuda::cross_entropy_gradient(arguments, target_.stream);
  }
  void check_tensors(const ProgramView& program) const {
    cuda::device_facts(target_.device);
    cuda::check_device_memory(program, target_.device);
    for (const PortView& port : program.ports) {
      // A GEMM would refuse it too, but when earlier steps have written.
      if (port.alignment != row::TensorCheck::kTmaAlignment) continue;
      cuda::check_lines(program.name, port.name, port.view[0]);
    }
  }
  // Where targets are, the host does not look: the loss of a bad one is NaN.
  static void check_targets(const int64_t*, int64_t, int64_t, int64_t) {}

 private:
  cuda::CurrentDevice current_;
  cuda::Target target_;
};

}  // namespace

void cross_entropy(const OnCuda& where, const CrossEntropy<bf16>& problem,
                   const CrossEntropyLoss& outputs, const Matrix<bf16>& logits,
                   const CrossEntropyWorkspace& workspace) {
  const CudaExecutor executor(where);
  checked_steps(executor, problem).forward(outputs, logits, workspace);
}

void cross_entropy_with_gradients(const OnCuda& where, const CrossEntropy<bf16>& problem,
                                  const CrossEntropyLoss& outputs,
                                  const CrossEntropyGradients<bf16>& gradients, int64_t chunk_rows,
                                  const CrossEntropyWorkspace& workspace) {
  const CudaExecutor executor(where);
  checked_steps(executor, problem).with_gradients(outputs, gradients, chunk_rows, workspace);
}

void cross_entropy_backward(const OnCuda& where, const CrossEntropy<bf16>& problem,
                            const float* lse, const Matrix<const bf16>& logits,
                            const Matrix<bf16>& dz, const CrossEntropyGradients<bf16>& gradients,
                            const CrossEntropyWorkspace& workspace) {
  const CudaExecutor executor(where);
  checked_steps(executor, problem).backward(lse, logits, dz, gradients, workspace);
}

void cross_entropy_recompute(const OnCuda& where, const CrossEntropy<bf16>& problem,
                             const float* lse, const CrossEntropyGradients<bf16>& gradients,
                             int64_t chunk_columns, const CrossEntropyWorkspace& workspace) {
  const CudaExecutor executor(where);
  checked_steps(executor, problem).recompute(lse, gradients, chunk_columns, workspace);
}

}  // namespace coda::catalogue
#endif
