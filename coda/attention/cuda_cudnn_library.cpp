#include "coda/attention/cuda_cudnn_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <climits>
#include <cstdlib>
#include <mutex>

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

// A library that cuDNN or its frontend opens by name. Where one is missing cuDNN ends the process,
// so they are opened here first, from the places that Python packages and the toolkit have.
// Returns where it was.
std::string open_beside(const std::string& cudnn_folder, const std::string& library,
                        const char* package) {
  const std::string name = fmt::format("{}.so.{}", library, kCudaMajor);
  for (const std::string& place :
       {name, fmt::format("{}/../../cu{}/lib/{}", cudnn_folder, kCudaMajor, name),
        fmt::format("/usr/local/cuda/lib64/{}", name)}) {
    if (dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return place;
  }
  throw DeviceError(fmt::format(
      "cuda: attention needs {} beside cuDNN, which is not found; add the folder that has it to "
      "LD_LIBRARY_PATH (lib64 of the CUDA toolkit), or pip install {}; or use the device cpu",
      name, package));
}

}  // namespace

std::vector<std::string> cudnn_places() {
  return {"libcudnn.so.9", CODA_CUDNN_LIBRARY_DIR "/libcudnn.so.9"};
}

void load_cudnn(const std::vector<std::string>& places) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (cudnn_frontend::cudnn_dlhandle != nullptr) return;
  std::string reasons;
  void* library = nullptr;
  for (const std::string& place : places) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    reasons += fmt::format("; {}", dlerror());
  }
  if (library == nullptr) {
    throw DeviceError(fmt::format(
        "cuda: attention needs cuDNN 9, which is not found; pip install nvidia-cudnn-cu{} and add "
        "the folder of its libcudnn.so.9 (site-packages/nvidia/cudnn/lib; PyTorch brings it too) "
        "to LD_LIBRARY_PATH, or use the device cpu{}",
        kCudaMajor, reasons));
  }
  const std::string folder = folder_of(library);
  open_beside(folder, "libcublasLt", "nvidia-cublas");
  open_beside(folder, "libnvrtc", "nvidia-cuda-nvrtc");
  const std::string runtime = open_beside(folder, "libcudart", "nvidia-cuda-runtime");
  // The frontend has its own runtime, beside the one that is linked in; it is told which.
  setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", runtime.c_str(), 0);
  cudnn_frontend::cudnn_dlhandle = library;
}

}  // namespace coda::attention
