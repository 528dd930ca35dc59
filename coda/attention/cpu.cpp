#include "coda/attention/cpu.h"

#include "coda/attention/arithmetic.h"
#include "coda/core/error.h"
#include "coda/cpu/threads.h"

namespace coda::attention {
namespace {

const Steps& steps_for([[maybe_unused]] cpu::Isa isa, DType tensors, DType blocks) {
#if CODA_CPU_ISAS > 2
  if (isa == cpu::Isa::kAvx512) return steps_of<cpu::Isa::kAvx512>(tensors, blocks);
#endif
#if CODA_CPU_ISAS > 1
  if (isa == cpu::Isa::kAvx2) return steps_of<cpu::Isa::kAvx2>(tensors, blocks);
#endif
  return steps_of<cpu::Isa::kPortable>(tensors, blocks);
}

}  // namespace

Arithmetic arithmetic_for(cpu::Isa isa, DType type) {
  const cpu::Kernels& tensors = cpu::kernels_for(isa, type);
  const DType blocks = tensors.unit == 2 ? DType::kBf16 : DType::kFp32;
  return {tensors, cpu::kernels_for(isa, blocks), blocks, steps_for(isa, type, blocks)};
}

CpuAttention::CpuAttention(const cpu::Options& options)
    : threads_(cpu::thread_count("attention", options.threads)),
      isa_(cpu::chosen_isa("attention", options)) {}

int64_t CpuAttention::workspace_bytes(const Shape& shape, DType type) const {
  validate(shape);
  if (type != DType::kBf16 && type != DType::kFp32) {
    fail_argument("attention", "type", "bf16 or fp32", dtype_name(type));
  }
  if (shape.batch == 0 || shape.tokens == 0) return 0;
  const Arithmetic arithmetic = arithmetic_for(isa_, type);
  return std::max(forward_bytes(arithmetic, shape, threads_),
                  backward_bytes(arithmetic, shape, threads_));
}

void CpuAttention::forward(const Shape& shape, const Forward& tensors, void* workspace) {
  validate(*this, shape, tensors, workspace);
  if (tensors.q.empty()) return;
  run_forward(arithmetic_for(isa_, tensors.q.dtype), shape, tensors, threads_now(), workspace);
}

void CpuAttention::backward(const Shape& shape, const Backward& tensors, void* workspace) {
  validate(*this, shape, tensors, workspace);
  if (tensors.q.empty()) return;
  run_backward(arithmetic_for(isa_, tensors.q.dtype), shape, tensors, threads_now(), workspace);
}

int CpuAttention::threads_now() const { return cpu::thread_count("attention", threads_); }

}  // namespace coda::attention
