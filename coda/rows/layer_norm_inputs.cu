#include "coda/rows/layer_norm_inputs.h"
#include "coda/rows/norm_inputs.cuh"

namespace coda::cuda {

void layer_norm_inputs(const row::LayerNormInputsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.x.empty()) return;
  launch_read<Moments::State<float>>(program, arguments.x, arguments.gamma, arguments.scaled,
                                     arguments.moments, stream);
}

}  // namespace coda::cuda
