// --shape of `coda bench` and `coda tune`.
#pragma once
#include <string>

#include "coda/tools/workload.h"

namespace coda::tools {

Shape parse_shape(const std::string& text);  // "4096x2048x2048"; throws coda::Error

}  // namespace coda::tools
