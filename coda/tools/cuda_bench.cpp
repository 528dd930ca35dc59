#include "coda/tools/cuda_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "coda/catalogue/linear.h"
#include "coda/plan/cuda.h"
#include "coda/tools/cuda_device.h"
#include "coda/tools/cuda_power.h"
#include "coda/tools/cuda_targets.h"
#include "coda/tools/cuda_workload.h"

namespace coda::tools {
namespace {

constexpr int kWarmUpRounds = 2;
// Until power and clock have settled: of the first shape in a regime, and of the others.
constexpr double kFirstWarmUpSeconds = 3, kWarmUpSeconds = 0.3;

struct Contender {
  std::function<void()> run;
  std::vector<float> ms;

  double median() const {
    std::vector<float> sorted = ms;
    std::ranges::sort(sorted);
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
};

struct Entry {
  BenchResult result;
  size_t contender, baseline;
  int accumulators;
};

bool same_gemm(const GemmRequest& x, const GemmRequest& y) {
  return x.M == y.M && x.N == y.N && x.K == y.K && x.a_rows == y.a_rows && x.b_rows == y.b_rows &&
         x.out == y.out;
}

class Events {
 public:
  explicit Events(size_t count) : events_(count) {
    for (cudaEvent_t& event : events_) cuda::check(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~Events() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void record(size_t i) const { cuda::check(cudaEventRecord(events_[i], nullptr), "event"); }
  float ms(size_t from) const {  // to the next
    float ms = 0;
    cuda::check(cudaEventElapsedTime(&ms, events_[from], events_[from + 1]),
                "cudaEventElapsedTime");
    return ms;
  }

 private:
  std::vector<cudaEvent_t> events_;
};

// What is measured at one shape in one regime.
class CudaRace {
 public:
  CudaRace(const CudaBenchOptions& options, const Shape& shape, Regime regime, Cublas& cublas)
      : rounds_(options.rounds), regime_(regime), workload_(shape, regime) {
    for (const CudaCase& c : workload_.cases()) {
      if (std::ranges::count(options.operations, c.operation) == 0) continue;
      const size_t baseline = find_baseline(c.baseline, cublas);
      add(c, baseline);
    }
  }

  void run(double warm_up_seconds) {
    warm_up(warm_up_seconds);
    const size_t stride = contenders_.size() + 1;
    const auto all = static_cast<size_t>(rounds_ + kWarmUpRounds);
    const Events events(stride * all);
    PowerMeter meter;
    for (size_t round = 0; round < all; ++round) {
      events.record(round * stride);
      for (size_t i = 0; i < contenders_.size(); ++i) {
        contenders_[i].run();
        events.record(round * stride + i + 1);
      }
    }
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    power_ = meter.stop();
    for (size_t round = kWarmUpRounds; round < all; ++round) {
      for (size_t i = 0; i < contenders_.size(); ++i) {
        contenders_[i].ms.push_back(events.ms(round * stride + i));
      }
    }
  }

  void finish(std::vector<BenchResult>& results) const {
    for (const Entry& entry : entries_) {
      BenchResult result = entry.result;
      result.ms = contenders_[entry.contender].median();
      result.baseline_ms = contenders_[entry.baseline].median();
      const Shape& s = result.shape;
      result.tflops = entry.accumulators * 2e-9 * static_cast<double>(s.M) *
                      static_cast<double>(s.N) * static_cast<double>(s.K) / result.ms;
      result.clock_mhz = power_.clock_mhz;
      result.power_w = power_.power_w;
      results.push_back(std::move(result));
    }
  }

 private:
  void warm_up(double seconds) {
    const auto start = std::chrono::steady_clock::now();
    const auto spent = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    while (spent() < seconds) {
      for (const Contender& contender : contenders_) contender.run();
      cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }

  size_t find_baseline(const GemmRequest& request, Cublas& cublas) {
    for (const auto& [known, contender] : baselines_) {
      if (same_gemm(known, request)) return contender;
    }
    contenders_.push_back({cublas.fastest(request, nullptr), {}});
    baselines_.emplace_back(request, contenders_.size() - 1);
    return contenders_.size() - 1;
  }

  void add(const CudaCase& c, size_t baseline) {
    for (const CudaWay& way : targets_.ways_of(c)) {
      Entry entry{{}, contenders_.size(), baseline, c.variant->program.accumulators};
      entry.result.operation = c.operation->name;
      entry.result.variant = c.variant->name;
      entry.result.layout = c.layout;
      entry.result.ports = c.ports;
      entry.result.dtype = c.variant->operand;
      entry.result.backend = "cuda";
      entry.result.regime = regime_name(regime_);
      entry.result.shape = c.shape;
      entry.result.config = way.config;
      entry.result.chosen = way.chosen;
      entry.result.rounds = rounds_;
      entry.result.baseline = "cublas";
      entries_.push_back(std::move(entry));
      contenders_.push_back(
          {[&c, target = way.target] { c.variant->run_cuda(c.call, target); }, {}});
    }
  }

  int rounds_;
  Regime regime_;
  CudaWorkload workload_;
  CudaTargets targets_;
  std::vector<Contender> contenders_;
  std::vector<std::pair<GemmRequest, size_t>> baselines_;
  std::vector<Entry> entries_;
  PowerReading power_;
};

// Of one launch among many that the device keeps up with.
template <class Launch>
double host_microseconds(const Launch& launch) {
  constexpr int kLaunches = 200, kTrials = 5;
  double best = 1e30;
  for (int trial = 0; trial < kTrials; ++trial) {
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) launch();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kLaunches);
  }
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return best;
}

}  // namespace

std::vector<Shape> cuda_bench_shapes() {
  constexpr int64_t kTokens = 16384;
  std::vector<Shape> result;
  for (const auto& [N, K] : std::initializer_list<std::pair<int64_t, int64_t>>{{2048, 2048},
                                                                               {11264, 2048},
                                                                               {2048, 5632},
                                                                               {6144, 2048},
                                                                               {4096, 4096},
                                                                               {22016, 4096},
                                                                               {4096, 11008},
                                                                               {12288, 4096},
                                                                               {8192, 8192},
                                                                               {44032, 8192},
                                                                               {8192, 22016}}) {
    result.push_back({kTokens, N, K});
  }
  return result;
}

std::vector<BenchResult> cuda_bench(const CudaBenchOptions& options,
                                    const std::function<void(int64_t, int64_t)>& progress) {
  Cublas cublas;
  std::vector<BenchResult> results;
  int64_t done = 0;
  const auto total = static_cast<int64_t>(2 * options.shapes.size());
  for (const Regime regime : {Regime::kRandom, Regime::kZeros}) {
    for (const Shape& shape : options.shapes) {
      progress(done++, total);
      CudaRace race(options, shape, regime, cublas);
      race.run(&shape == options.shapes.data() ? kFirstWarmUpSeconds : kWarmUpSeconds);
      race.finish(results);
    }
  }
  return results;
}

BenchGpu describe_gpu() {
  BenchGpu gpu;
  gpu.name = cuda_device_name();
  const CudaWorkload workload({256, 256, 256}, Regime::kZeros);
  const CudaCase& linear = workload.cases().front();
  const catalogue::Call& call = linear.call;
  const auto program = coda::bind<catalogue::Linear<bf16>>(call.arguments);
  gpu.launch_us = host_microseconds([&] { cuda::run(program, call.a, call.b, cuda::Target{}); });
  gpu.launch_by_name_us =
      host_microseconds([&] { linear.variant->run_cuda(call, cuda::Target{}); });
  return gpu;
}

}  // namespace coda::tools
