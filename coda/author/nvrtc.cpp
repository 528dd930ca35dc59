#include "coda/author/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "coda/author/toolchain.h"
#include "coda/core/error.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

using Program = void*;
using Status = int;  // 0: success

// Folders under `root` that match, one level: "python3.11".
std::vector<fs::path> folders_in(const fs::path& root) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (entry.is_directory(error)) result.push_back(entry.path());
  }
  std::ranges::sort(result, std::greater{});
  return result;
}

// Toolkits and wheels: each has lib or lib64.
std::vector<fs::path> cuda_roots() {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(variable)) roots.emplace_back(value);
  }
  std::vector<fs::path> environments;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* value = std::getenv(variable)) environments.emplace_back(value);
  }
  environments.push_back(source_folder() / ".venv");
  environments.emplace_back("/usr/local");
  environments.emplace_back("/usr");
  for (const fs::path& environment : environments) {
    for (const fs::path& python : folders_in(environment / "lib")) {
      if (!python.filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& wheel : folders_in(python / packages / "nvidia")) {
          roots.push_back(wheel);
        }
      }
    }
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

// Files in a folder whose names begin so.
std::vector<fs::path> files_like(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(prefix)) result.push_back(entry.path());
  }
  std::ranges::sort(result, std::greater{});
  return result;
}

void* open_in(const fs::path& folder) {
  const auto libraries = files_like(folder, "libnvrtc.so");
  if (libraries.empty()) return nullptr;
  // NVRTC looks this one up by its name only.
  for (const fs::path& builtins : files_like(folder, "libnvrtc-builtins.so")) {
    dlopen(builtins.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  for (const fs::path& library : libraries) {
    if (void* handle = dlopen(library.c_str(), RTLD_NOW)) return handle;
  }
  return nullptr;
}

void* open_nvrtc() {
  if (const char* asked = std::getenv("CODA_NVRTC"); asked != nullptr && *asked != '\0') {
    void* handle = open_in(asked);
    if (handle == nullptr) {
      throw DeviceError(fmt::format("CODA_NVRTC={}: expected a folder with libnvrtc.so", asked));
    }
    return handle;
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    if (void* handle = dlopen(name, RTLD_NOW)) return handle;
  }
  for (const fs::path& root : cuda_roots()) {
    for (const char* folder : {"lib", "lib64"}) {
      if (void* handle = open_in(root / folder)) return handle;
    }
  }
  throw DeviceError(
      "NVRTC: no libnvrtc.so in the loader's path, in a CUDA toolkit or in a Python "
      "environment (pip install nvidia-cuda-nvrtc; CODA_NVRTC names its folder); programs that are "
      "compiled with CMake and nvcc need none");
}

}  // namespace

const Nvrtc& Nvrtc::get() {
  static const Nvrtc nvrtc;
  return nvrtc;
}

Nvrtc::Nvrtc() : library_(open_nvrtc()) {
  int major = 0, minor = 0;
  reinterpret_cast<Status (*)(int*, int*)>(function("nvrtcVersion"))(&major, &minor);
  version_ = fmt::format("{}.{}", major, minor);
}

void* Nvrtc::function(const char* name) const {
  void* result = dlsym(library_, name);
  if (result == nullptr) throw DeviceError(fmt::format("NVRTC: has no function {}", name));
  return result;
}

NvrtcResult Nvrtc::compile(const std::string& source, const std::string& name,
                           const std::vector<std::string>& options) const {
  const auto create =
      reinterpret_cast<Status (*)(Program*, const char*, const char*, int, const char* const*,
                                  const char* const*)>(function("nvrtcCreateProgram"));
  const auto destroy = reinterpret_cast<Status (*)(Program*)>(function("nvrtcDestroyProgram"));
  const auto run = reinterpret_cast<Status (*)(Program, int, const char* const*)>(
      function("nvrtcCompileProgram"));
  const auto text = [&](Program program, const char* size_name, const char* text_name) {
    size_t size = 0;
    reinterpret_cast<Status (*)(Program, size_t*)>(function(size_name))(program, &size);
    std::string result(size, '\0');
    reinterpret_cast<Status (*)(Program, char*)>(function(text_name))(program, result.data());
    return result;
  };
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  Program program = nullptr;
  if (create(&program, source.c_str(), name.c_str(), 0, nullptr, nullptr) != 0) {
    throw DeviceError("nvrtcCreateProgram failed");
  }
  NvrtcResult result;
  result.compiled = run(program, static_cast<int>(arguments.size()), arguments.data()) == 0;
  result.log = text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").c_str();
  if (result.compiled) result.cubin = text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  destroy(&program);
  return result;
}

}  // namespace coda::author
