// cuDNN's library, found at run time: a binary that knows its headers runs where it is missing too.
// Host only.
#pragma once
#include <string>
#include <vector>

namespace coda::attention {

// Where libcudnn is looked for: by its name, as the loader finds it, and where it lay at build time.
std::vector<std::string> cudnn_places();

// Makes the library known to cuDNN's frontend, once per process. Throws coda::DeviceError where it,
// or one of CUDA's libraries that it calls, is not found; says how to get it.
void load_cudnn(const std::vector<std::string>& places = cudnn_places());

}  // namespace coda::attention
