// Tensor maps of the GPU. Host only.
#pragma once
#include <cuda.h>

#include "coda/plan/map_request.h"

namespace coda::cuda {

// Throws coda::Error that says what was asked for.
void encode_tensor_map(CUtensorMap& map, const plan::MapRequest& request);

}  // namespace coda::cuda
