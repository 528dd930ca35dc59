#include "coda/tools/cuda_check.h"

#include <fmt/format.h>

#include <exception>
#include <set>
#include <thread>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"
#include "coda/tools/call_kernels.h"
#include "coda/tools/cuda_copy.h"

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

bool in_place(const Call& call) {
  std::set<const void*> seen;
  for (const Argument& argument : call.arguments) {
    for (const TensorView& view : argument.tensors) {
      if (view.data != nullptr && !seen.insert(view.data).second) return true;
    }
  }
  return false;
}

void run_on_two_streams(const CheckRun& run) {
  const DeviceCopy first(run.memory), second(run.memory);
  const Stream one, two;
  std::exception_ptr thrown;
  std::thread other([&] {
    try {
      run.variant.run_cuda(second.call(run.call), Target{0, two.get()});
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  try {
    run.variant.run_cuda(first.call(run.call), Target{0, one.get()});
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (thrown) std::rethrow_exception(thrown);
  one.wait();
  two.wait();
  if (first.bytes() != second.bytes()) throw Error("two streams differ in bits");
  first.copy_back();
}

void run_in_graph(const CheckRun& run) {
  const DeviceCopy copy(run.memory);
  const Stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal),
              "cudaStreamBeginCapture");
  try {
    run.variant.run_cuda(copy.call(run.call), Target{0, stream.get()});
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);
    throw;
  }
  cuda::check(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
  cuda::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < (in_place(run.call) ? 1 : 2); ++i) {
    cuda::check(cudaGraphLaunch(executable, stream.get()), "cudaGraphLaunch");
  }
  stream.wait();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  copy.copy_back();
}

void run_plainly(const CheckRun& run, const plan::KernelEntry* kernel, int launches) {
  const DeviceCopy copy(run.memory);
  const Call call = copy.call(run.call);
  for (int i = 0; i < launches; ++i) run.variant.run_cuda(call, Target{0, nullptr, kernel});
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  copy.copy_back();
}

std::vector<const plan::KernelEntry*> kernels_for(const CheckRun& run) {
  return fitting_kernels(run.variant.cuda_kernels(), run.variant, run.call);
}

constexpr int kWays = 3;  // before the kernels, one by one

std::string run_cuda(const CheckRun& run) {
  switch (run.repetition) {
    case 0: run_plainly(run, nullptr, 1); return "the chosen kernel";
    case 1: run_on_two_streams(run); return "on two streams";
    case 2: run_in_graph(run); return "in a graph";
    default: break;
  }
  const plan::KernelEntry* kernel = kernels_for(run)[static_cast<size_t>(run.repetition - kWays)];
  run_plainly(run, kernel, in_place(run.call) ? 1 : 3);
  return plan::config_name(kernel->config);
}

}  // namespace

CheckBackend cuda_backend() {
  cuda::device_facts(0);
  CheckBackend backend;
  backend.configurations = {"--backend cuda"};
  backend.run = run_cuda;
  backend.repetitions = [](const CheckRun& run) {
    return kWays + (is_empty(run.call) ? 0 : static_cast<int>(kernels_for(run).size()));
  };
  backend.has = [](const Variant& variant) { return variant.run_cuda != nullptr; };
  backend.refuses = [](const CheckRun& run) {
    return !is_empty(run.call) && kernels_for(run).empty();
  };
  backend.rules.alignment = 16;
  backend.rules.kernels = [](const Variant& variant) { return variant.cuda_kernels(); };
  return backend;
}

}  // namespace coda::tools
