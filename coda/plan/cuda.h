// Programs on the GPU: validated, a kernel chosen, tensor maps made, launched on the caller's
// stream. Nothing is allocated on the device, synchronised or compiled here, so that launches may
// be captured into CUDA graphs and come from several threads.
#pragma once
#include <cuda_runtime_api.h>

#include "coda/plan/choose.h"

namespace coda::cuda {

// Where a launch goes.
struct Target {
  int device = 0;
  cudaStream_t stream = nullptr;
  const plan::KernelEntry* kernel = nullptr;  // instead of the chosen one; it has to fit
  // Device memory of workspace_bytes(), aligned to 256 bytes, in which slices of the contraction
  // meet: nobody else's until the launch is done. Without it the contraction stays whole. The
  // number of slices changes a result's last bits; it depends on the problem and the GPU only.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  int slices = 0;  // instead of the chosen number; more than one take a workspace
};

// Throws coda::Error that names the call, unless status is success.
void check(cudaError_t status, const char* call);

// Makes a device the current one, for the calls that look at it. Set even where it is already: a
// thread that has not touched the runtime yet has no context, which the driver's calls ask for.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice() {
    if (changed_) cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

// Of the device, which must have capability 9.0; asked for once.
const plan::Device& device_facts(int device);

// The kernels of a program; defined where the program is instantiated for the GPU (launch.cuh).
template <class P>
std::span<const plan::KernelEntry> kernels_of();

// Throws coda::Error unless the pointer is memory that kernels of the device reach.
void check_device_memory(const std::string& program, const std::string& argument,
                         const void* pointer, int device);
// The same for all tensors of a row operation.
void check_device_memory(const ProgramView& program, int device);

// Throws coda::Error unless TMA can move the tensor: a base and a pitch of multiples of 16 bytes.
void check_lines(const std::string& program, const std::string& argument, const TensorView& view);

// Checks that only the GPU has: memory of that device; 16-byte base, pitch and segments of what TMA
// moves.
void validate_device(const ProgramView& program, const Problem& problem, const OperandView& a,
                     const OperandView& b, int device);

// What run() asks of target.workspace; 0 where the contraction stays whole.
int64_t workspace_bytes(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                        const plan::LaunchRequest& request, const Target& target);

// On target.device, whatever the current one is. Errors carry the problem and the configuration.
void launch_chosen(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                   const plan::LaunchRequest& request, const Target& target);

template <class P>
void run(const P& program, const OperandView& a, const OperandView& b, const Target& target) {
  const ProgramView view = describe(program);
  const Problem problem = validate(view, a, b);
  validate_device(view, problem, a, b, target.device);
  if (problem.M() == 0 || problem.N() == 0) return;
  launch_chosen(kernels_of<P>(), view, {&program, &problem, &a, &b}, target);
}

template <class P>
int64_t workspace_bytes(const P& program, const OperandView& a, const OperandView& b,
                        const Target& target) {
  const ProgramView view = describe(program);
  const Problem problem = validate(view, a, b);
  if (problem.M() == 0 || problem.N() == 0) return 0;
  return workspace_bytes(kernels_of<P>(), view, {&program, &problem, &a, &b}, target);
}

}  // namespace coda::cuda
