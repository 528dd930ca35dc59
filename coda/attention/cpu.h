// Attention on the CPU: blocks of queries and keys, probabilities never all at once; vectorised,
// with AVX512-BF16 where the processor has it. The same bits for every number of threads. Host
// only.
#pragma once
#include "coda/attention/attention.h"
#include "coda/cpu/run.h"

namespace coda::attention {

class CpuAttention final : public Attention {
 public:
  explicit CpuAttention(const cpu::Options& options = {});

  int64_t workspace_bytes(const Shape& shape, DType type) const override;
  void forward(const Shape& shape, const Forward& tensors, void* workspace) override;
  void backward(const Shape& shape, const Backward& tensors, void* workspace) override;

 private:
  int threads_now() const;  // fewer in a process that was forked

  int threads_;
  cpu::Isa isa_;
};

}  // namespace coda::attention
