// NVRTC, loaded where it is found when the process runs: $CODA_NVRTC, the loader's path, a CUDA
// toolkit, or the wheel nvidia-cuda-nvrtc of a Python environment.
#pragma once
#include <string>
#include <vector>

namespace coda::author {

struct NvrtcResult {
  bool compiled = false;
  std::string log;    // with ptxas's account of registers
  std::string cubin;  // where it compiled
};

class Nvrtc {
 public:
  // Throws coda::DeviceError that says what was looked for.
  static const Nvrtc& get();

  NvrtcResult compile(const std::string& source, const std::string& name,
                      const std::vector<std::string>& options) const;

  const std::string& version() const { return version_; }  // "13.0"

 private:
  Nvrtc();
  void* function(const char* name) const;

  void* library_ = nullptr;
  std::string version_;
};

}  // namespace coda::author
