#include "coda/tools/cuda_rows_bench.h"

#include <algorithm>
#include <deque>

#include "coda/plan/cuda.h"
#include "coda/tools/cuda_buffer.h"
#include "coda/tools/drawn_workload.h"
#include "coda/tools/median.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::Variant;

constexpr double kTurnMs = 8;
constexpr int kWarmUpRounds = 3;

struct Timer {
  Timer() {
    for (cudaEvent_t* event : {&begin, &end}) cuda::check(cudaEventCreate(event), "event");
  }
  ~Timer() {
    for (cudaEvent_t event : {begin, end}) cudaEventDestroy(event);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Milliseconds of one of so many launches in a row.
  template <class Run>
  double time(const Run& run, int launches) const {
    cuda::check(cudaEventRecord(begin, nullptr), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) run();
    cuda::check(cudaEventRecord(end, nullptr), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    cuda::check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    return static_cast<double>(ms) / launches;
  }

  cudaEvent_t begin = nullptr, end = nullptr;
};

BenchResult measure(const Operation& operation, const Variant& variant, const Shape& shape,
                    bool all_ports, int rounds) {
  std::deque<CudaBuffer> memory;
  const DrawnWorkload workload(
      variant, shape, all_ports, [&](int64_t bytes, std::span<const std::byte> pattern) {
        const CudaBuffer& buffer = memory.emplace_back(std::max<int64_t>(bytes, 1));
        buffer.fill(0);
        if (!pattern.empty()) buffer.fill(pattern.data(), pattern.size());
        return buffer.data();
      });
  const auto half = static_cast<int64_t>(workload.bytes() / 2);
  const CudaBuffer from(half), to(half);
  cuda::Target target{};
  target.workspace_bytes = variant.cuda_workspace_bytes(workload.call(), target);
  const CudaBuffer workspace(std::max<int64_t>(target.workspace_bytes, 1));
  target.workspace = workspace.data();

  const auto run = [&] { variant.run_cuda(workload.call(), target); };
  const auto copy = [&] {
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(half),
                                cudaMemcpyDeviceToDevice, nullptr),
                "cudaMemcpyAsync");
  };
  const Timer timer;
  timer.time(run, 1);
  timer.time(copy, 1);
  const int launches = std::max(1, static_cast<int>(kTurnMs / timer.time(copy, 3)));
  std::vector<double> mine, copies;
  for (int round = -kWarmUpRounds; round < rounds; ++round) {
    const double ms = timer.time(run, launches), copy_ms = timer.time(copy, launches);
    if (round < 0) continue;
    mine.push_back(ms);
    copies.push_back(copy_ms);
  }
  BenchResult result;
  result.operation = operation.name;
  result.variant = variant.name;
  result.dtype = variant.operand;
  result.shape = shape;
  result.backend = "cuda";
  result.ports = given_optional_ports(variant.program, workload.call());
  result.rounds = rounds;
  result.config = "rows";
  result.ms = median(mine);
  result.gigabytes_per_s = workload.bytes() * 1e-6 / result.ms;
  result.baseline = "copy";
  result.baseline_ms = median(copies);
  return result;
}

}  // namespace

std::vector<Shape> cuda_rows_bench_shapes() {
  return {{16384, 2048, 128256}, {16384, 4096, 128256}, {16384, 8192, 128256}};
}

std::vector<BenchResult> cuda_rows_bench(const CudaBenchOptions& options,
                                         const std::function<void(int64_t, int64_t)>& progress) {
  std::vector<std::pair<const Operation*, const Variant*>> contenders;
  for (const Operation* operation : options.operations) {
    for (const Variant& variant : operation->variants) {
      if (variant.draw != nullptr && variant.run_cuda != nullptr) {
        contenders.emplace_back(operation, &variant);
      }
    }
  }
  std::vector<BenchResult> results;
  const auto total = static_cast<int64_t>(2 * contenders.size() * options.shapes.size());
  for (const Shape& shape : options.shapes) {
    for (const auto& [operation, variant] : contenders) {
      for (const bool all_ports : {false, true}) {
        progress(static_cast<int64_t>(results.size()), total);
        results.push_back(measure(*operation, *variant, shape, all_ports, options.rounds));
      }
    }
  }
  return results;
}

}  // namespace coda::tools
