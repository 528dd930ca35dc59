// `coda check --layer`: a whole layer, forward and backward, by the catalogue's operations, every
// result and every gradient against fp64.
#pragma once
#include "coda/tools/check.h"
#include "coda/tools/layer_calls.h"

namespace coda::tools {

// Normal data of the type, weights of variance 1/in, positions up to 10^5.
reference::Arrays draw_layer(const LayerSizes& sizes, DType type, uint64_t seed);

// Random data, fixed sizes, kept and folded norm weights; a case is one of them with one type.
CheckResult check_layer(const std::string& backend, uint64_t seed);

}  // namespace coda::tools
