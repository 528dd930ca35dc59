// The tensors of a layer's GEMMs at one shape, on the GPU: x [M, K], w [N, K], and what the forward
// pass, dX and dW make of them, each with the bare GEMM that it is compared with.
#pragma once
#include <string>
#include <vector>

#include "coda/catalogue/operation.h"
#include "coda/tools/cuda_buffer.h"
#include "coda/tools/cuda_cublas.h"
#include "coda/tools/workload.h"

namespace coda::tools {

enum class Regime {
  kRandom,  // normal data: power limits the clock
  kZeros,   // A is zero: full clock
};
const char* regime_name(Regime regime);

struct CudaCase {
  const catalogue::Operation* operation = nullptr;
  const catalogue::Variant* variant = nullptr;
  std::string layout;              // "forward", "dX" or "dW"
  std::vector<std::string> ports;  // optional ones that are given
  Shape shape;                     // N of one accumulator
  catalogue::Call call;
  GemmRequest baseline;
};

inline TensorView tensor(void* data, DType type, int64_t rows, int64_t columns) {
  return {data, type, rows, columns, columns, Major::kRow, dtype_bytes(type)};
}

class CudaWorkload {
 public:
  CudaWorkload(const Shape& shape, Regime regime);
  void add_own(const catalogue::Operation& operation);  // of an author's

  const std::vector<CudaCase>& cases() const { return cases_; }

 private:
  enum class Fill { kZero, kNormal, kPartials, kPositions };

  void* memory(int64_t elements, DType type, Fill fill);
  void add(const char* operation, const char* variant, const char* layout,
           const catalogue::Call& call, const GemmRequest& baseline);
  void add(const catalogue::Operation& operation, const catalogue::Variant& variant,
           const char* layout, const catalogue::Call& call, const GemmRequest& baseline);
  Argument own_argument(const PortView& port, const Problem& problem);
  void add_forward();
  void add_rope();
  void add_gradients();
  void add_input_gradients();
  void add_weight_gradients();

  Shape shape_;
  std::vector<CudaBuffer> memory_;
  void *x_, *w_, *dz_, *residual_, *up_, *gamma_, *partials_, *squares_, *dgamma_, *dw_;
  void *positions_, *target_, *sums_;
  void* out_[3];
  std::vector<CudaCase> cases_;
};

}  // namespace coda::tools
