#include "coda/plan/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "coda/plan/choose.h"
#include "coda/plan/tuning_file.h"
#include "coda/version.h"

namespace coda::plan {
namespace {

constexpr std::string_view kFormat = "coda tuning cache, format 1";
constexpr char kSeparator = '\t';
constexpr std::ptrdiff_t kSeparators = 6;  // of a line: six fields of the key, the configuration

const char* major_name(kernel::OperandMajor major) {
  return major == kernel::OperandMajor::kContraction ? "contraction" : "rows";
}

kernel::OperandMajor major_of(const OperandView& operand) {
  return operand.part[0][0].major == Major::kRow ? kernel::OperandMajor::kContraction
                                                 : kernel::OperandMajor::kRows;
}

bool has_empty_field(std::string_view line) {
  return line.front() == kSeparator || line.back() == kSeparator ||
         line.find("\t\t") != std::string_view::npos;
}

std::atomic<const TuningCache*> in_use = nullptr;

void install(TuningCache cache) {
  // Earlier ones stay: a launch on another thread may be looking into them.
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const TuningCache>> kept;
  const std::lock_guard lock(mutex);
  kept.push_back(std::make_unique<const TuningCache>(std::move(cache)));
  in_use.store(kept.back().get(), std::memory_order_release);
}

// Before a call of use_tuning too: the environment does not replace what a program asks for.
void load_environment_once() {
  [[maybe_unused]] static const bool loaded = [] {
    const char* path = std::getenv("CODA_TUNING_CACHE");
    if (path != nullptr && *path != '\0') install(read_tuning(path));
    return true;
  }();
}

}  // namespace

std::string tuning_key(const Device& device, const ProgramView& program, DType operand,
                       kernel::OperandMajor a, kernel::OperandMajor b, int64_t M, int64_t N,
                       int64_t K) {
  std::string ports;
  for (const PortView& port : program.ports) {
    const bool usual = port.kind == PortKind::kScalar && port.choice == port.usual;
    if (usual || (port.optional && !port.given)) continue;
    ports += fmt::format(" {}:{}", port.name, dtype_name(port.dtype));
  }
  return fmt::format("{}\t{}\t{}\t{} {}{}\t{},{}\t{}x{}x{}", device.name, device.multiprocessors,
                     kVersion, program.name, dtype_name(operand), ports, major_name(a),
                     major_name(b), M, N, K);
}

bool TuningCache::has_format(std::string_view text) {
  return text.substr(0, text.find('\n')) == kFormat;
}

TuningCache TuningCache::parse(std::string_view text) {
  TuningCache cache;
  if (!has_format(text)) return cache;
  size_t begin = std::min(text.find('\n'), text.size() - 1) + 1;
  for (size_t end = text.find('\n', begin); end != std::string_view::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const std::string_view line = text.substr(begin, end - begin);
    if (std::ranges::count(line, kSeparator) != kSeparators || has_empty_field(line)) continue;
    const size_t last = line.rfind(kSeparator);
    cache.set(std::string(line.substr(0, last)), std::string(line.substr(last + 1)));
  }
  return cache;
}

std::string TuningCache::text() const {
  std::string result = fmt::format("{}\n", kFormat);
  for (const auto& [key, config] : entries_) {
    result += fmt::format("{}{}{}\n", key, kSeparator, config);
  }
  return result;
}

const std::string* TuningCache::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

void TuningCache::set(const std::string& key, const std::string& config) { entries_[key] = config; }

void TuningCache::merge(const TuningCache& newer) {
  for (const auto& [key, config] : newer.entries_) set(key, config);
}

void use_tuning(TuningCache cache) {
  load_environment_once();
  install(std::move(cache));
}

const TuningCache* tuning_in_use() {
  load_environment_once();
  return in_use.load(std::memory_order_acquire);
}

const KernelEntry* tuned_kernel(const TuningCache& cache, std::span<const KernelEntry> kernels,
                                const ProgramView& program, const LaunchRequest& request,
                                const Device& device) {
  const Problem& problem = *request.problem;
  const bool cut =
      problem.rows.count > 1 || problem.columns.count > 1 || problem.contraction.count > 1;
  if (cut) return nullptr;
  const OperandView &a = *request.a, &b = *request.b;
  const std::string* config =
      cache.find(tuning_key(device, program, a.part[0][0].dtype, major_of(a), major_of(b),
                            problem.M(), problem.N(), problem.K()));
  if (config == nullptr) return nullptr;
  const auto kernel = std::ranges::find_if(kernels, [&](const KernelEntry& entry) {
    return config_name(entry.config) == *config && fits(entry, program, a, b);
  });
  return kernel == kernels.end() ? nullptr : &*kernel;
}

}  // namespace coda::plan
