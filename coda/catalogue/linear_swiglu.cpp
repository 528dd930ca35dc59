#include "coda/catalogue/linear_swiglu.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_swiglu_reference.h"

namespace coda::catalogue {

const Operation& linear_swiglu_operation();  // the build collects it in operations()

const Operation& linear_swiglu_operation() {
  static const Operation operation{
      .name = "linear_swiglu",
      .formula =
          "out = f(gate)·up, (gate, up) = rstd ⊙ (A Wgᵀ, A Wuᵀ), rstd = (Σx²/width + ε)^-½; "
          "activation f: 0 silu, 1 gelu, 2 gelu by tanh, 3 relu",
      .summary = "The gated half of an MLP on a normalised input, from stock gate and up weights.",
      .variants = {variant<LinearSwiglu<bf16>>("bf16", DType::kBf16, on_gpu<LinearSwiglu<bf16>>()),
                   variant<LinearSwiglu<fp16>>("fp16", DType::kFp16, on_gpu<LinearSwiglu<fp16>>()),
                   variant<LinearSwiglu<float>>("fp32", DType::kFp32)},
      .reference = &linear_swiglu_reference,
      .exact = {"gate", "up"}};
  return operation;
}

}  // namespace coda::catalogue
