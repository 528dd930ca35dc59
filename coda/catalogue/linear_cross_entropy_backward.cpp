#include "coda/catalogue/linear_cross_entropy_backward.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_cross_entropy_backward_reference.h"

namespace coda::catalogue {

const Operation& linear_cross_entropy_backward_operation();  // the build collects it

const Operation& linear_cross_entropy_backward_operation() {
  static const Operation operation{
      .name = "linear_cross_entropy_backward",
      .formula =
          "out = rstd·dz, dz = [exp(ẑ - lse)·(1 + 2λ·lse) - (1-α)·1_target - α/V]·(1 - (ẑ/c)²)·"
          "dloss·scale; dots = Σ z·dz per 128 columns",
      .summary = "The gradient of cross-entropy by the logits, which the GEMM makes again.",
      .variants = {variant<LinearCrossEntropyBackward<bf16>>(
                       "bf16", DType::kBf16, on_gpu<LinearCrossEntropyBackward<bf16>>()),
                   variant<LinearCrossEntropyBackward<float>>("fp32", DType::kFp32)},
      .reference = &linear_cross_entropy_backward_reference,
      .exact = {}};
  return operation;
}

}  // namespace coda::catalogue
