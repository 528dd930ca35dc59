#include "coda/attention/cuda_cudnn_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <climits>
#include <cstdlib>

#include "coda/core/error.h"

namespace cudnn_frontend {
extern void* cudnn_dlhandle;  // the frontend takes every function of cuDNN from it
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace coda::attention {
namespace {

constexpr int kCudaMajor = CUDART_VERSION / 1000;

std::string folder_of(void* library) {
  char folder[PATH_MAX] = "";
  if (dlinfo(library, RTLD_DI_ORIGIN, folder) != 0) return "";
  return folder;
}

// The frontend looks for a runtime of its own beside the one that is linked in; it is told which.
void name_cuda_runtime(const std::string& cudnn_folder) {
  const char* variable = "CUDNN_FRONTEND_CUDART_LIB_NAME";
  if (std::getenv(variable) != nullptr) return;
  const std::string name = fmt::format("libcudart.so.{}", kCudaMajor);
  for (const std::string& place :
       {name, fmt::format("{}/../../cu{}/lib/{}", cudnn_folder, kCudaMajor, name),
        fmt::format("{}/../../cuda_runtime/lib/{}", cudnn_folder, name),
        fmt::format("/usr/local/cuda/lib64/{}", name)}) {
    if (dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) continue;
    setenv(variable, place.c_str(), 1);
    return;
  }
  throw DeviceError(fmt::format(
      "cuda: attention needs {} beside cuDNN, which is not found; add the folder that has it to "
      "LD_LIBRARY_PATH (lib64 of the CUDA toolkit), or pip install nvidia-cuda-runtime",
      name));
}

}  // namespace

std::vector<std::string> cudnn_places() {
  return {"libcudnn.so.9", CODA_CUDNN_LIBRARY_DIR "/libcudnn.so.9"};
}

void load_cudnn(const std::vector<std::string>& places) {
  if (cudnn_frontend::cudnn_dlhandle != nullptr) return;
  std::string reasons;
  void* library = nullptr;
  for (const std::string& place : places) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    reasons += fmt::format("\n  {}", dlerror());
  }
  if (library == nullptr) {
    throw DeviceError(fmt::format(
        "cuda: attention needs cuDNN 9, which is not found; pip install nvidia-cudnn-cu{} and add "
        "the folder of its libcudnn.so.9 (site-packages/nvidia/cudnn/lib; PyTorch brings it too) "
        "to LD_LIBRARY_PATH, or use the device cpu. Looked for:{}",
        kCudaMajor, reasons));
  }
  name_cuda_runtime(folder_of(library));
  cudnn_frontend::cudnn_dlhandle = library;
}

}  // namespace coda::attention
