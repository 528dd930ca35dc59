#include "coda/tools/cuda_bench.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>

#include "coda/catalogue/linear.h"
#include "coda/plan/cuda.h"
#include "coda/tools/cuda_device.h"
#include "coda/tools/cuda_power.h"
#include "coda/tools/cuda_targets.h"
#include "coda/tools/cuda_workload.h"
#include "coda/tools/median.h"

namespace coda::tools {
namespace {

constexpr size_t kWarmUpRounds = 2;
constexpr double kTurnMs = 16;
// Until power and clock have settled: of the first shape in a regime, and of the others.
constexpr double kFirstWarmUpSeconds = 3, kWarmUpSeconds = 0.3;

struct Contender {
  std::function<void()> run;
  std::vector<double> ms;
  int launches = 1;  // in half a turn

  void run_all() const {
    for (int i = 0; i < launches; ++i) run();
  }
};

struct Baseline {
  GemmRequest request;
  std::vector<size_t> fastest;  // contenders
  size_t usual = 0;
};

struct Entry {
  BenchResult result;
  size_t contender;
  const Baseline* baseline;
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
    for (const catalogue::Operation* operation : options.operations) {
      if (!operation->file.empty()) workload_.add_own(*operation);
    }
    for (const CudaCase& c : workload_.cases()) {
      if (std::ranges::count(options.operations, c.operation) == 0) continue;
      add(c, find_baseline(c.baseline, cublas));
    }
  }

  // Power is regulated over milliseconds, so a launch runs at a clock that those before it have
  // left. Therefore turns of many launches, of which the second half counts, in an order that is
  // drawn anew each round.
  void run(double warm_up_seconds) {
    warm_up(warm_up_seconds);
    for (Contender& contender : contenders_)
      contender.launches = launches_in(kTurnMs / 2, contender);
    const size_t all = static_cast<size_t>(rounds_) + kWarmUpRounds;
    const Events events(2 * contenders_.size());
    std::vector<size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::mt19937 random(1);
    PowerMeter meter;
    for (size_t round = 0; round < all; ++round) {
      std::ranges::shuffle(order, random);
      for (const size_t i : order) {
        contenders_[i].run_all();
        events.record(2 * i);
        contenders_[i].run_all();
        events.record(2 * i + 1);
      }
      cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      if (round < kWarmUpRounds) continue;
      for (size_t i = 0; i < contenders_.size(); ++i) {
        contenders_[i].ms.push_back(events.ms(2 * i) / static_cast<float>(contenders_[i].launches));
      }
    }
    power_ = meter.stop();
  }

  void finish(std::vector<BenchResult>& results) const {
    for (const Entry& entry : entries_) {
      BenchResult result = entry.result;
      result.ms = median(contenders_[entry.contender].ms);
      result.baseline_ms = baseline_ms(*entry.baseline);
      result.usual_ms = median(contenders_[entry.baseline->usual].ms);
      const Shape& s = result.shape;
      result.tflops = entry.accumulators * 2e-9 * static_cast<double>(s.M) *
                      static_cast<double>(s.N) * static_cast<double>(s.K) / result.ms;
      result.clock_mhz = power_.clock_mhz;
      result.power_w = power_.power_w;
      results.push_back(std::move(result));
    }
  }

 private:
  static int launches_in(double milliseconds, const Contender& contender) {
    const Events events(2);
    events.record(0);
    contender.run();
    events.record(1);
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return std::max(1, static_cast<int>(milliseconds / events.ms(0)));
  }

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

  const Baseline& find_baseline(const GemmRequest& request, Cublas& cublas) {
    for (const Baseline& known : baselines_) {
      if (same_gemm(known.request, request)) return known;
    }
    const CublasGemms gemms = cublas.gemms(request, nullptr);
    Baseline& added = baselines_.emplace_back();
    added.request = request;
    for (const auto& gemm : gemms.fastest) added.fastest.push_back(enter(gemm));
    added.usual = enter(gemms.usual);
    return added;
  }

  size_t enter(std::function<void()> run) {
    contenders_.push_back({std::move(run), {}, 1});
    return contenders_.size() - 1;
  }

  double baseline_ms(const Baseline& baseline) const {
    double least = median(contenders_[baseline.usual].ms);
    for (const size_t i : baseline.fastest) least = std::min(least, median(contenders_[i].ms));
    return least;
  }

  void add(const CudaCase& c, const Baseline& baseline) {
    for (const CudaWay& way : targets_.ways_of(c)) {
      Entry entry{{}, 0, &baseline, c.variant->program.accumulators};
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
      entry.result.chosen_whole = way.chosen_whole;
      entry.result.slices = way.slices;
      entry.result.rounds = rounds_;
      entry.result.baseline = "cublas";
      entry.contender = enter([&c, target = way.target] { c.variant->run_cuda(c.call, target); });
      entries_.push_back(std::move(entry));
    }
  }

  int rounds_;
  Regime regime_;
  CudaWorkload workload_;
  CudaTargets targets_;
  std::vector<Contender> contenders_;
  std::deque<Baseline> baselines_;  // entries point at them
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
