// The ways in which the GPU can run a case: every kernel that fits, whole and, where they are
// predicted to be worth it, with slices in a workspace.
#pragma once
#include <string>
#include <vector>

#include "coda/plan/cuda.h"
#include "coda/tools/cuda_workload.h"

namespace coda::tools {

struct CudaWay {
  cuda::Target target;
  std::string config;         // "pp128x128_s6_c2x1_n32_k4"
  int slices = 1;             // of the contraction
  bool chosen = false;        // what coda takes where it is given a workspace
  bool chosen_whole = false;  // what it takes where it is not
};

// Keeps the workspaces.
class CudaTargets {
 public:
  std::vector<CudaWay> ways_of(const CudaCase& c);

 private:
  std::vector<CudaBuffer> workspaces_;
};

}  // namespace coda::tools
