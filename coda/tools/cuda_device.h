// Which GPU there is.
#pragma once
#include <string>

namespace coda::tools {

std::string cuda_device_name();  // or why there is none

}  // namespace coda::tools
