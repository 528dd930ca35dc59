#include "coda/tools/cuda_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <thread>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"
#include "coda/plan/slices.h"
#include "coda/tools/call_kernels.h"
#include "coda/tools/cuda_copy.h"
#include "coda/tools/cuda_workspace.h"

namespace coda::tools {
namespace {

using catalogue::Call;
using catalogue::Variant;
using cuda::Target;

class Stream {
 public:
  Stream() { cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// What a second launch would not repeat: outputs that are inputs.
bool in_place(const Variant& variant, const Call& call) {
  std::set<const void*> seen;
  for (const Argument& argument : call.arguments) {
    const auto& ports = variant.program.ports;
    const auto port = std::ranges::find(ports, argument.name, &PortView::name);
    if (port != ports.end() && port->updated) return true;
    for (const TensorView& view : argument.tensors) {
      if (view.data != nullptr && !seen.insert(view.data).second) return true;
    }
  }
  return false;
}

// With a workspace of its own where the contraction is cut into slices (`target.slices`).
void launch(const CheckRun& run, const Call& call, const GuardedWorkspace& workspace,
            cuda::Target target) {
  target.workspace = workspace.data();
  target.workspace_bytes = workspace.bytes();
  run.variant.run_cuda(call, target);
}

void run_on_two_streams(const CheckRun& run, const Target& asked) {
  const DeviceCopy first(run.memory), second(run.memory);
  const GuardedWorkspace workspace(run.variant, first.call(run.call), asked);
  const GuardedWorkspace other_workspace(run.variant, second.call(run.call), asked);
  const Stream one, two;
  Target on_one = asked, on_two = asked;
  on_one.stream = one.get();
  on_two.stream = two.get();
  std::exception_ptr thrown;
  std::thread other([&] {
    try {
      launch(run, second.call(run.call), other_workspace, on_two);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    launch(run, first.call(run.call), workspace, on_one);
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (thrown) std::rethrow_exception(thrown);
  one.wait();
  two.wait();
  workspace.check();
  other_workspace.check();
  if (first.bytes() != second.bytes()) throw Error("two streams differ in bits");
  first.copy_back();
}

void run_in_graph(const CheckRun& run, Target target) {
  const DeviceCopy copy(run.memory);
  const GuardedWorkspace workspace(run.variant, copy.call(run.call), target);
  const Stream stream;
  target.stream = stream.get();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal),
              "cudaStreamBeginCapture");
  try {
    launch(run, copy.call(run.call), workspace, target);
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);
    throw;
  }
  cuda::check(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
  cuda::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < (in_place(run.variant, run.call) ? 1 : 2); ++i) {
    cuda::check(cudaGraphLaunch(executable, stream.get()), "cudaGraphLaunch");
  }
  stream.wait();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  workspace.check();
  copy.copy_back();
}

void run_plainly(const CheckRun& run, const Target& target, int launches) {
  const DeviceCopy copy(run.memory);
  const Call call = copy.call(run.call);
  const GuardedWorkspace workspace(run.variant, call, target);
  for (int i = 0; i < launches; ++i) launch(run, call, workspace, target);
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  workspace.check();
  copy.copy_back();
}

// Of the contraction; 0: as many as are worth it, where bits depend on the kernel.
constexpr int kSlices[] = {1, 0, 2, 5};

int slices_of(const std::optional<int>& only, const CheckRun& run) {
  return only.value_or(kSlices[run.configuration]);
}

// None of an operation that is no GEMM: it has one way to run.
std::vector<const plan::KernelEntry*> kernels_for(const CheckRun& run, int slices) {
  if (run.variant.cuda_kernels == nullptr) return {};
  return fitting_kernels(run.variant.cuda_kernels(), run.variant, run.call, slices);
}

constexpr int kWays = 3;  // before the kernels, one by one

std::string run_cuda(const CheckRun& run, int slices) {
  const auto kernels = kernels_for(run, slices);
  Target target{};
  target.slices = slices;
  if (slices > 1 && !kernels.empty()) target.kernel = kernels[0];  // the chosen one may not do
  switch (run.repetition) {
    case 0: run_plainly(run, target, 1); return "the chosen kernel";
    case 1: run_on_two_streams(run, target); return "on two streams";
    case 2: run_in_graph(run, target); return "in a graph";
    default: break;
  }
  target.kernel = kernels[static_cast<size_t>(run.repetition - kWays)];
  run_plainly(run, target, in_place(run.variant, run.call) ? 1 : 3);
  return plan::sliced_name(*target.kernel, slices);
}

int count_runs(const CheckRun& run, int slices) {
  if (run.variant.cuda_kernels == nullptr) return slices == 1 ? kWays : 0;
  if (is_empty(run.call)) return kWays;
  const auto kernels = static_cast<int>(kernels_for(run, slices).size());
  if (slices > 1 && kernels == 0) return 0;
  return slices == 0 ? kWays : kWays + kernels;
}

}  // namespace

CheckBackend cuda_backend(const std::optional<int>& slices) {
  cuda::device_facts(0);
  CheckBackend backend;
  for (const int number : kSlices) {
    if (slices && backend.configurations.size() == 1) break;
    backend.configurations.push_back(
        fmt::format("--backend cuda --slices {}", slices.value_or(number)));
  }
  backend.run = [slices](const CheckRun& run) { return run_cuda(run, slices_of(slices, run)); };
  backend.repetitions = [slices](const CheckRun& run) {
    return count_runs(run, slices_of(slices, run));
  };
  backend.has = [](const Variant& variant) { return variant.run_cuda != nullptr; };
  backend.refuses = [](const CheckRun& run) {
    const bool gemm = run.variant.cuda_kernels != nullptr;
    return gemm && !is_empty(run.call) && kernels_for(run, 1).empty();
  };
  backend.accumulation = reference::Accumulation::kTensorCore;
  backend.rules.alignment = 16;
  backend.rules.gpu = true;
  backend.rules.kernels = [](const Variant& variant) { return variant.cuda_kernels(); };
  return backend;
}

}  // namespace coda::tools
