#include "coda/plan/cuda.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/plan/per_device.h"
#include "coda/plan/slices.h"
#include "coda/program/check_view.h"
#include "coda/program/workspace.h"

namespace coda::cuda {
namespace {

constexpr int64_t kTmaBytes = 16;  // base addresses and pitches

plan::Device ask_device(int device) {
  int major = 0, minor = 0;
  plan::Device result;
  const auto ask = [&](int& value, cudaDeviceAttr attribute) {
    check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  };
  ask(major, cudaDevAttrComputeCapabilityMajor);
  ask(minor, cudaDevAttrComputeCapabilityMinor);
  ask(result.multiprocessors, cudaDevAttrMultiProcessorCount);
  if (major != 9) {  // sm_90a code runs on nothing else
    throw DeviceError(
        fmt::format("expected a GPU of compute capability 9.0 (Hopper), device {} has {}.{}",
                    device, major, minor));
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  result.name = properties.name;
  return result;
}

}  // namespace

void check_lines(const std::string& program, const std::string& argument, const TensorView& view) {
  if (view.empty()) return;
  const int64_t elements = kTmaBytes / view.element_bytes;
  if (reinterpret_cast<uintptr_t>(view.data) % kTmaBytes != 0) {
    fail_argument(program, argument,
                  fmt::format("data aligned to {} bytes on the GPU (begin a slice at a multiple of "
                              "{} elements, or copy it)",
                              kTmaBytes, elements),
                  fmt::format("address {}", view.data));
  }
  if (view.lines() > 1 && view.ld * view.element_bytes % kTmaBytes != 0) {
    fail_argument(program, argument,
                  fmt::format("a leading dimension that is a multiple of {} elements ({} bytes) on "
                              "the GPU (pad the lines to {})",
                              elements, kTmaBytes, (view.ld + elements - 1) / elements * elements),
                  fmt::format("{}", view.ld));
  }
}

namespace {

void check_operand(const std::string& program, const std::string& letter,
                   const OperandView& operand, int device) {
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s) {
      const TensorView& view = operand.part[i][s];
      if (view.empty()) continue;
      check_device_memory(program, letter, view.data, device);
      check_lines(program, letter, view);
    }
  }
}

// Columns and depth within the last tile, and behind it, are 32-bit numbers in kernels.
void check_extents(const std::string& program, const Problem& problem) {
  constexpr int64_t kMost = kMaxExtent - 511;
  if (problem.N() > kMost) {
    fail_argument(program, "B", fmt::format("at most {} rows in all on the GPU", kMost),
                  fmt::format("{}", problem.N()));
  }
  if (problem.K() > kMost) {
    fail_argument(program, "A", fmt::format("a contraction of at most {} in all on the GPU", kMost),
                  fmt::format("{}", problem.K()));
  }
}

// A port that is one tensor for several segments: each segment begins inside its lines.
void check_segments(const std::string& program, const PortView& port, const Segments& columns) {
  const int64_t elements = kTmaBytes / port.element_bytes;
  for (int s = 1; s < columns.count; ++s) {
    if (columns.size(s) == 0 || columns.begin[s] % elements == 0) continue;
    fail_argument(program, port.name,
                  fmt::format("segments of N that begin at multiples of {} columns ({} bytes) on "
                              "the GPU (or a port with a tensor per segment)",
                              elements, kTmaBytes),
                  fmt::format("one that begins at {}", columns.begin[s]));
  }
}

// Without a workspace the contraction stays whole, unless slices are asked for.
plan::SlicedChoice choose_within(std::span<const plan::KernelEntry> kernels,
                                 const ProgramView& view, const plan::LaunchRequest& request,
                                 const Target& target) {
  const plan::Device& device = device_facts(target.device);
  const bool whole = target.workspace == nullptr && target.workspace_bytes == 0;
  if (whole && target.slices == 0) {
    return {&plan::pick(target.kernel, kernels, view, request, device), {}};
  }
  return plan::choose_sliced({target.kernel, target.slices}, kernels, view, request, device);
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // said here, not by the next call that somebody makes
  throw DeviceError(
      fmt::format("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status)));
}

CurrentDevice::CurrentDevice(int device) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  check(cudaSetDevice(device), "cudaSetDevice");
  changed_ = before_ != device;
}

void check_device_memory(const std::string& program, const std::string& argument,
                         const void* pointer, int device) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  if (attributes.type == cudaMemoryTypeManaged) return;
  if (attributes.type != cudaMemoryTypeDevice) {
    fail_argument(program, argument, fmt::format("memory of device {}", device),
                  fmt::format("host memory at {}", pointer));
  }
  if (attributes.device != device) {
    fail_argument(program, argument, fmt::format("memory of device {}", device),
                  fmt::format("memory of device {}", attributes.device));
  }
}

void check_device_memory(const ProgramView& program, int device) {
  for (const PortView& port : program.ports) {
    if (port.view[0].empty()) continue;
    check_device_memory(program.name, port.name, port.view[0].data, device);
  }
}

const plan::Device& device_facts(int device) {
  static PerDevice<plan::Device> facts;
  return facts.get(device, [&] { return ask_device(device); });
}

void validate_device(const ProgramView& program, const Problem& problem, const OperandView& a,
                     const OperandView& b, int device) {
  device_facts(device);
  check_extents(program.name, problem);
  check_operand(program.name, "A", a, device);
  check_operand(program.name, "B", b, device);
  for (const PortView& port : program.ports) {
    if (!port.given) continue;
    if (port.kind == PortKind::kScalar) {
      if (port.scalar_pointer != nullptr) {
        check_device_memory(program.name, port.name, port.scalar_pointer, device);
      }
      continue;
    }
    const bool tile = port.kind == PortKind::kPerElement || port.kind == PortKind::kStore;
    for (int s = 0; s < port.segments; ++s) {
      const TensorView& view = port.view[s];
      if (view.empty()) continue;
      check_device_memory(program.name, port.name, view.data, device);
      const bool table = port.kind == PortKind::kPairTable;  // read in words of two elements
      if (tile || table) check_lines(program.name, port.name, view);
    }
    if (tile && port.segments == 1) check_segments(program.name, port, problem.columns);
  }
}

int64_t workspace_bytes(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                        const plan::LaunchRequest& request, const Target& target) {
  const plan::SlicedChoice choice = plan::choose_sliced({target.kernel, target.slices}, kernels,
                                                        view, request, device_facts(target.device));
  return plan::workspace_bytes(*choice.kernel, *request.problem, choice.slicing);
}

void launch_chosen(std::span<const plan::KernelEntry> kernels, const ProgramView& view,
                   const plan::LaunchRequest& request, const Target& target) {
  const Problem& problem = *request.problem;
  const plan::SlicedChoice choice = choose_within(kernels, view, request, target);
  const plan::KernelEntry& kernel = *choice.kernel;
  plan::LaunchRequest launch = request;
  if (choice.slicing.slices > 1) {
    validate_workspace(view, *request.a, *request.b, {target.workspace, target.workspace_bytes},
                       plan::workspace_bytes(kernel, problem, choice.slicing));
    check_device_memory(view.name, "workspace", target.workspace, target.device);
    launch.slicing = choice.slicing;
    launch.workspace = target.workspace;
  }
  const auto with_problem = [&](const Error& error) {
    return fmt::format("{}: M = {}, N = {}, K = {}, configuration {}: {}", view.name, problem.M(),
                       problem.N(), problem.K(), plan::config_name(kernel.config), error.what());
  };
  try {
    const CurrentDevice current(target.device);
    kernel.launch(launch, &target);
  } catch (const DeviceError& error) {
    throw DeviceError(with_problem(error));
  } catch (const Error& error) {
    throw Error(with_problem(error));
  }
}

}  // namespace coda::cuda
