// The layer's calls on the GPU, one after the other on one stream.
#pragma once
#include "coda/tools/layer_calls.h"

namespace coda::tools {

void run_layer_on_cuda(LayerCalls& layer);

}  // namespace coda::tools
