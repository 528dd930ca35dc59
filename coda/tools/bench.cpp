#include "coda/tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "coda/core/error.h"
#include "coda/tools/drawn_workload.h"
#include "coda/tools/machine.h"
#include "coda/tools/median.h"
#include "coda/tools/openblas.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::Variant;

constexpr const char* kPlain = "linear";  // the operation that fused ones are compared with

struct Contender {
  std::string key;  // the same key is measured once
  std::function<void()> run;
  std::vector<double> ms;
};

struct Entry {
  BenchResult result;
  size_t contender = 0;
  std::optional<size_t> baseline;
};

// What is measured at one shape.
class Race {
 public:
  Race(const BenchOptions& options, const Shape& shape) : options_(options), shape_(shape) {}

  void add(const Operation& operation, const Variant& variant) {
    Entry entry;
    entry.result.operation = operation.name;
    entry.result.variant = variant.name;
    entry.result.dtype = variant.operand;
    entry.result.shape = shape_;
    entry.result.config = config_name(variant.operand, options_.isa);
    entry.result.chosen = !options_.isa || *options_.isa == cpu::default_isa();
    entry.result.rounds = options_.rounds;
    if (variant.draw != nullptr) return add_drawn(variant, std::move(entry));
    const auto workload = std::make_shared<Workload>(variant, shape_, options_.all_ports);
    entry.result.ports = given_optional_ports(variant.program, workload->call());
    entry.result.tflops = workload->flops() * 1e-12;  // divided by the seconds at the end
    entry.contender = contender(fmt::format("{} {} {}", operation.name, variant.name, shape_.N),
                                [=, options = cpu_options()] { workload->run(options); });
    if (operation.name != kPlain) {
      entry.result.baseline = kPlain;
      entry.baseline = plain(variant.operand, shape_.N * variant.program.accumulators);
    } else if (has_openblas() && variant.operand == DType::kFp32) {
      entry.result.baseline = "openblas";
      entry.baseline = openblas();
    }
    entries_.push_back(std::move(entry));
  }

  // Beside a copy of as many bytes.
  void add_drawn(const Variant& variant, Entry entry) {
    const auto workload = std::make_shared<CpuDrawnWorkload>(variant, shape_, options_.all_ports);
    entry.result.config = "rows";
    entry.result.ports = given_optional_ports(variant.program, workload->workload().call());
    entry.result.gigabytes_per_s = workload->workload().bytes() * 1e-9;  // likewise
    const std::string key = fmt::format("{} {}", entry.result.operation, variant.name);
    entry.contender = contender(key, [=, options = cpu_options()] { workload->run(options); });
    entry.result.baseline = "copy";
    entry.baseline =
        contender(key + " copy", [=, threads = options_.threads] { workload->copy(threads); });
    entries_.push_back(std::move(entry));
  }

  int64_t runs() const {  // one round to warm up
    return static_cast<int64_t>(contenders_.size()) * (options_.rounds + 1);
  }

  void run(const std::function<void()>& step) {
    for (int round = -1; round < options_.rounds; ++round) {
      for (Contender& contender : contenders_) {
        const auto start = std::chrono::steady_clock::now();
        contender.run();
        const std::chrono::duration<double, std::milli> ms =
            std::chrono::steady_clock::now() - start;
        if (round >= 0) contender.ms.push_back(ms.count());
        step();
      }
    }
  }

  void finish(std::vector<BenchResult>& results) const {
    for (const Entry& entry : entries_) {
      BenchResult result = entry.result;
      result.ms = median(contenders_[entry.contender].ms);
      result.tflops /= result.ms * 1e-3;
      result.gigabytes_per_s /= result.ms * 1e-3;
      if (entry.baseline) result.baseline_ms = median(contenders_[*entry.baseline].ms);
      results.push_back(std::move(result));
    }
  }

 private:
  cpu::Options cpu_options() const { return {.threads = options_.threads, .isa = options_.isa}; }

  size_t contender(const std::string& key, std::function<void()> run) {
    const auto found = std::ranges::find(contenders_, key, &Contender::key);
    if (found == contenders_.end()) contenders_.push_back({key, std::move(run), {}});
    return static_cast<size_t>(std::ranges::find(contenders_, key, &Contender::key) -
                               contenders_.begin());
  }

  size_t plain(DType dtype, int64_t columns) {
    const Operation& operation = catalogue::find_operation(kPlain);
    const Variant& variant = catalogue::find_variant(operation, dtype_name(dtype));
    const std::string key = fmt::format("{} {} {}", operation.name, variant.name, columns);
    if (const auto found = std::ranges::find(contenders_, key, &Contender::key);
        found != contenders_.end()) {
      return static_cast<size_t>(found - contenders_.begin());
    }
    const auto workload =
        std::make_shared<Workload>(variant, Shape{shape_.M, columns, shape_.K}, false);
    return contender(key, [=, options = cpu_options()] { workload->run(options); });
  }

  size_t openblas() {
    const Operation& operation = catalogue::find_operation(kPlain);
    const auto workload = std::make_shared<Workload>(
        catalogue::find_variant(operation, dtype_name(DType::kFp32)), shape_, false);
    return contender("openblas", [workload, shape = shape_, threads = options_.threads] {
      const auto data = [](const TensorView& view) {
        return static_cast<float*>(const_cast<void*>(view.data));
      };
      const catalogue::Call& call = workload->call();
      const Argument* out = find_argument(call.arguments, "out");
      openblas_gemm(shape.M, shape.N, shape.K, data(call.a.part[0][0]), data(call.b.part[0][0]),
                    data(out->tensors[0]), threads);
    });
  }

  const BenchOptions& options_;
  Shape shape_;
  std::vector<Contender> contenders_;
  std::vector<Entry> entries_;
};

// One type throughout: what a table shows first. Partials and numbers do not count.
bool uniform(const Variant& variant) {
  return std::ranges::all_of(variant.program.ports, [&](const PortView& port) {
    const bool tensor = port.kind == PortKind::kPerRow || port.kind == PortKind::kPerColumn ||
                        port.kind == PortKind::kPerElement || port.kind == PortKind::kStore;
    return !tensor || is_integer(port.dtype) || port.dtype == variant.operand;
  });
}

bool wanted(const BenchOptions& options, const Variant& variant) {
  if (!options.variants.empty()) return std::ranges::count(options.variants, variant.name) > 0;
  const bool shown =
      variant.draw != nullptr ? variant.name == dtype_name(variant.operand) : uniform(variant);
  return std::ranges::count(options.dtypes, variant.operand) > 0 && shown;
}

}  // namespace

std::vector<BenchResult> bench(const BenchOptions& options,
                               const std::function<void(int64_t, int64_t)>& progress) {
  std::vector<BenchResult> results;
  for (size_t i = 0; i < options.shapes.size(); ++i) {
    Race race(options, options.shapes[i]);
    for (const Operation* operation : options.operations) {
      for (const Variant& variant : operation->variants) {
        if (wanted(options, variant)) race.add(*operation, variant);
      }
    }
    if (race.runs() == 0) throw Error("no variant of these operations has such a type or name");
    // Every shape has the same contenders, but for a doubled N.
    const int64_t total = race.runs() * static_cast<int64_t>(options.shapes.size());
    int64_t done = race.runs() * static_cast<int64_t>(i);
    race.run([&] { progress(++done, total); });
    race.finish(results);
  }
  return results;
}

}  // namespace coda::tools
