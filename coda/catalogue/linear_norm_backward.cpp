#include "coda/catalogue/linear_norm_backward.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_norm_backward_reference.h"

namespace coda::catalogue {

const Operation& linear_norm_backward_operation();  // the build collects it in operations()

const Operation& linear_norm_backward_operation() {
  static const Operation operation{
      .name = "linear_norm_backward",
      .formula =
          "dx = dx_in + A Bᵀ⊙γ − x ⊙ rstd²·w, w = Σdots/width; kept γ: scaled = x⊙γ, "
          "dgamma = Σ A Bᵀ⊙x per 64 rows",
      .summary = "Back through a projection and the RMSNorm before it, onto the residual stream.",
      .variants = {variant<LinearNormBackward<bf16>>("kept-bf16", DType::kBf16,
                                                     on_gpu<LinearNormBackward<bf16>>()),
                   variant<LinearNormBackward<float>>("kept-fp32", DType::kFp32),
                   variant<LinearNormBackward<bf16, float>>("kept-bf16-fp32stream", DType::kBf16),
                   variant<LinearNormBackwardFolded<bf16>>(
                       "folded-bf16", DType::kBf16, on_gpu<LinearNormBackwardFolded<bf16>>()),
                   variant<LinearNormBackwardFolded<float>>("folded-fp32", DType::kFp32),
                   variant<LinearNormBackwardFolded<bf16, float>>("folded-bf16-fp32stream",
                                                                  DType::kBf16)},
      .reference = &linear_norm_backward_reference,
      .exact = {"dx", "scaled", "dgamma"}};
  return operation;
}

}  // namespace coda::catalogue
