#include "coda/rows/norm_inputs.cuh"
#include "coda/rows/norm_inputs.h"

namespace coda::cuda {

void norm_inputs(const row::NormInputsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.x.empty()) return;
  launch_read<float>(program, arguments.x, arguments.gamma, arguments.scaled, arguments.squares,
                     stream);
}

}  // namespace coda::cuda
