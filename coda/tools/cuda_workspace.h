// A workspace of the GPU, as large as a call asks for, between guard bands.
#pragma once
#include <optional>

#include "coda/catalogue/operation.h"
#include "coda/plan/cuda.h"
#include "coda/tools/cuda_buffer.h"

namespace coda::tools {

class GuardedWorkspace {
 public:
  // For the kernel and slices that the target asks for. The memory is filled with a byte that is
  // no zero, so that a launch which relies on zeros shows.
  GuardedWorkspace(const catalogue::Variant& variant, const catalogue::Call& call,
                   const cuda::Target& target);

  void* data() const;  // null where nothing is asked for
  int64_t bytes() const { return bytes_; }

  // Throws coda::Error where something was written beside it. Launches have to be over.
  void check() const;

 private:
  int64_t bytes_;
  std::optional<CudaBuffer> memory_;
};

}  // namespace coda::tools
