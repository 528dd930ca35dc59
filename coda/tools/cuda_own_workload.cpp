// Programs of one's own at a layer's shape: their ports say what they are given.
#include "coda/block/call.h"
#include "coda/program/problem.h"
#include "coda/tools/cuda_workload.h"

namespace coda::tools {
namespace {

constexpr int64_t kHeadDim = 128;

Segments whole(int64_t size) { return {1, {0, size}}; }

}  // namespace

void CudaWorkload::add_own(const catalogue::Operation& operation) {
  const auto [M, N, K] = shape_;
  for (const catalogue::Variant& variant : operation.variants) {
    const ProgramView& program = variant.program;
    if (variant.operand != DType::kBf16 || variant.run_cuda == nullptr) continue;
    Problem problem;
    problem.rows = whole(M);
    problem.columns = whole(N / program.accumulators);
    problem.contraction = whole(K);
    catalogue::Call call;
    call.a.part[0][0] = tensor(x_, DType::kBf16, M, K);
    call.b.accumulators = program.accumulators;
    if (program.halves) {
      problem.head_dim = call.b.head_dim = kHeadDim;
      call.b.halved = true;
      call.b.part[0][0] = call.b.part[1][0] = tensor(w_, DType::kBf16, N, K);
    } else {
      for (int i = 0; i < program.accumulators; ++i) {
        const int64_t rows = problem.N();
        call.b.part[i][0] = tensor(static_cast<bf16*>(w_) + i * rows * K, DType::kBf16, rows, K);
      }
    }
    for (const PortView& port : program.ports) {  // without optional ones, as on the CPU
      if (!port.optional) call.arguments.push_back(own_argument(port, problem));
    }
    block::append(call.arguments, workload_parameters(variant, K));
    add(operation, variant, "forward", call,
        {M, N, K, x_, w_, false, false, out_[0], DType::kBf16});
  }
}

Argument CudaWorkload::own_argument(const PortView& port, const Problem& problem) {
  Argument result{port.name, {}, 1};
  if (port.kind == PortKind::kScalar) return result;
  const Extent extent = workload_extent(port, problem, 0);
  const Fill fill = !is_input(port.kind) || is_integer(port.dtype) ? Fill::kZero
                    : port.kind == PortKind::kPerRowFrom           ? Fill::kPartials
                                                                   : Fill::kNormal;
  const int64_t halves = extent.rows * extent.columns * port.element_bytes / 2;
  result.tensors.push_back({memory(halves, DType::kBf16, fill), port.dtype, extent.rows,
                            extent.columns, extent.columns, Major::kRow, port.element_bytes});
  return result;
}

}  // namespace coda::tools
