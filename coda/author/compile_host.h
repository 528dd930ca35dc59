// Compiles authors' programs with the machine's C++ compiler into shared objects, and loads them:
// operations like those of the catalogue.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "coda/author/host_sources.h"
#include "coda/author/registration.h"

namespace coda::author {

// An author's operation, for as long as this lives.
class LoadedProgram {
 public:
  // kernels: it shall run in them, not on the CPU alone.
  LoadedProgram(std::shared_ptr<void> library, const ProgramFiles& files, bool kernels);

  const catalogue::Operation& operation() const { return *registration_->operation; }
  std::span<const catalogue::SimulatedProgram> simulated() const {
    return registration_->simulated;
  }

 private:
  std::shared_ptr<void> library_;  // of all programs in one folder
  const Registration* registration_ = nullptr;
};

// All of them at once, on all cores. Throws coda::Error with the compiler's messages, the author's
// lines first (diagnostics.h), and for what a program may not do (inspect.h). The process's
// executable has to show libcoda's symbols (ENABLE_EXPORTS): the objects use its functions.
std::vector<LoadedProgram> compile_host(std::span<const ProgramFiles> programs,
                                        const HostTargets& targets = {});

}  // namespace coda::author
