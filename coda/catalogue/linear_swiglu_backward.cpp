#include "coda/catalogue/linear_swiglu_backward.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_swiglu_backward_reference.h"

namespace coda::catalogue {

const Operation& linear_swiglu_backward_operation();  // the build collects it in operations()

const Operation& linear_swiglu_backward_operation() {
  static const Operation operation{
      .name = "linear_swiglu_backward",
      .formula =
          "dgate = rstd ⊙ dg, dup = rstd ⊙ du, (dg, du) = A Bᵀ · (up·f'(gate), f(gate)); "
          "out = f(gate)·up; dots = Σ gate·dg + up·du per 64 columns; f as in linear_swiglu",
      .summary = "Back through the gated half of an MLP, from the gradient of its down projection.",
      .variants = {variant<LinearSwigluBackward<bf16>>("bf16", DType::kBf16,
                                                       on_gpu<LinearSwigluBackward<bf16>>()),
                   variant<LinearSwigluBackward<float>>("fp32", DType::kFp32)},
      .reference = &linear_swiglu_backward_reference,
      .exact = {}};
  return operation;
}

}  // namespace coda::catalogue
