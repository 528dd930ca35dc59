#include "coda/catalogue/linear_activation_backward.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_activation_backward_reference.h"

namespace coda::catalogue {

const Operation& linear_activation_backward_operation();  // the build collects it in operations()

const Operation& linear_activation_backward_operation() {
  static const Operation operation{
      .name = "linear_activation_backward",
      .formula =
          "dz = A Bᵀ·f'(before); out = f(before); dots = Σ dz·(before − offset − bias), "
          "shifts = Σ dz·shift per 64 columns; dbias = Σ dz per 64 rows; f as in "
          "linear_activation",
      .summary = "Back through an activation, from the gradient of the projection behind it.",
      .variants = {variant<LinearActivationBackward<bf16>>(
                       "bf16", DType::kBf16, on_gpu<LinearActivationBackward<bf16>>()),
                   variant<LinearActivationBackward<float>>("fp32", DType::kFp32)},
      .reference = &linear_activation_backward_reference,
      .exact = {}};
  return operation;
}

}  // namespace coda::catalogue
