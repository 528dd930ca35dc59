// Attention on the GPU: cuDNN's fused kernels through its frontend, on one stream. bf16. Host only.
//
// lse belongs to cuDNN between forward and backward: [batch, heads, tokens], which is [heads,
// batch·tokens] for one sequence only.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>

#include "coda/attention/attention.h"

namespace coda::attention {

struct CudnnOptions {
  // Backward gives the same bits every time where cuDNN can, in a workspace up to this size: before
  // cuDNN 9.25 it takes 2 bytes per pair of tokens and head. Beyond, the parts of dq are added in
  // the order in which they are done.
  int64_t deterministic_bytes = int64_t{256} << 20;
};

class CudnnAttention final : public Attention {
 public:
  // Throws coda::DeviceError where cuDNN is not found or does not start.
  CudnnAttention(int device, cudaStream_t stream, const CudnnOptions& options = {});
  ~CudnnAttention() override;
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  int64_t workspace_bytes(const Shape& shape, DType type) const override;
  bool deterministic(const Shape& shape) const;  // whether backward is, for this shape

  // Return before the work is done.
  void forward(const Shape& shape, const Forward& tensors, void* workspace) override;
  void backward(const Shape& shape, const Backward& tensors, void* workspace) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coda::attention
