#include "coda/catalogue/linear_activation.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_activation_reference.h"

namespace coda::catalogue {

const Operation& linear_activation_operation();  // the build collects it in operations()

const Operation& linear_activation_operation() {
  static const Operation operation{
      .name = "linear_activation",
      .formula =
          "out = f(z), z = rstd ⊙ (A Wᵀ − mean·shift) + offset + bias, mean = Σx/width, "
          "rstd = (Σx²/width − mean² + ε)^-½; activation f: 0 silu, 1 gelu, 2 gelu by tanh, "
          "3 relu, 4 none",
      .summary = "A linear layer behind a LayerNorm (shift = γ Wᵀ, offset = β Wᵀ), and activation.",
      .variants = {variant<LinearActivation<bf16>>("bf16", DType::kBf16,
                                                   on_gpu<LinearActivation<bf16>>()),
                   variant<LinearActivation<fp16>>("fp16", DType::kFp16,
                                                   on_gpu<LinearActivation<fp16>>()),
                   variant<LinearActivation<float>>("fp32", DType::kFp32)},
      .reference = &linear_activation_reference,
      .exact = {"before"}};
  return operation;
}

}  // namespace coda::catalogue
