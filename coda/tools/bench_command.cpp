#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "coda/core/error.h"
#include "coda/tools/bench.h"
#include "coda/tools/command_line.h"
#if defined(CODA_HAS_CUDA)
#include "coda/tools/cuda_bench.h"
#include "coda/tools/cuda_rows_bench.h"
#endif
#include "coda/terminal/progress.h"
#include "coda/tools/machine.h"
#include "coda/tools/named_operations.h"
#include "coda/tools/parse_shape.h"

namespace coda::tools {
namespace {

struct Arguments {
  std::vector<std::string> operations, shapes, dtypes, variants;
  std::string backend = "cpu", json, isa;
  int threads = 2, rounds = 20;
  bool all_ports = false;
};

DType parse_dtype(const std::string& name) {
  for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp32}) {
    if (name == dtype_name(type)) return type;
  }
  throw Error(fmt::format("--dtype: expected bf16, fp16 or fp32, got '{}'", name));
}

BenchOptions read(const Arguments& arguments, const NamedOperations& operations) {
  BenchOptions options;
  options.operations = operations.list();
  options.threads = arguments.threads;
  options.rounds = arguments.rounds;
  options.all_ports = arguments.all_ports;
  for (const std::string& text : arguments.shapes) options.shapes.push_back(parse_shape(text));
  if (options.shapes.empty()) {
    options.shapes = {{1024, 1024, 1024}, {4096, 2048, 2048}, {2048, 5632, 2048}};
  }
  for (const std::string& name : arguments.dtypes) options.dtypes.push_back(parse_dtype(name));
  for (const std::string& name : arguments.variants) {
    // One operation is enough to have it; where only one was asked for, it says what it has.
    const bool known = std::ranges::any_of(options.operations, [&](const auto* operation) {
      return std::ranges::count(operation->variants, name, &catalogue::Variant::name) > 0;
    });
    if (!known) catalogue::find_variant(*options.operations.front(), name);
    options.variants.push_back(name);
  }
  if (!arguments.isa.empty()) options.isa = cpu::parse_isa(arguments.isa);
  return options;
}

void require_writable(const std::string& name) {  // before minutes of measuring
  if (name.empty()) return;
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(name, ignored);
  if (!std::ofstream(name, std::ios::app)) {
    throw Error(fmt::format("--json: cannot write '{}'", name));
  }
  if (!was_there) std::filesystem::remove(name, ignored);  // measuring may fail
}

void write(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream file(name, std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("--json: cannot write '{}'", name));
  fmt::print("written to {}\n", name);
}

#if defined(CODA_HAS_CUDA)
void run_cuda_bench(const Arguments& arguments, const NamedOperations& operations) {
  require_writable(arguments.json);
  const BenchOptions read_options = read(arguments, operations);
  CudaBenchOptions gemms{{}, read_options.shapes, arguments.rounds}, rows = gemms;
  for (const catalogue::Operation* operation : read_options.operations) {
    (operation->has_operands ? gemms : rows).operations.push_back(operation);
  }
  if (arguments.shapes.empty()) {
    gemms.shapes = cuda_bench_shapes();
    rows.shapes = cuda_rows_bench_shapes();
  }
  const BenchGpu gpu = describe_gpu();
  fmt::print("{}; a launch takes the host {:.1f} µs, by name {:.1f} µs; medians of {} rounds\n",
             gpu.name, gpu.launch_us, gpu.launch_by_name_us, arguments.rounds);
  std::fflush(stdout);
  const auto measure = [](auto&& bench, const CudaBenchOptions& options) {
    std::optional<terminal::Progress> line;
    if (options.operations.empty()) return std::vector<BenchResult>{};
    return bench(options, [&](int64_t done, int64_t total) {
      if (!line) line.emplace("bench", total);
      line->show(done);
    });
  };
  std::vector<BenchResult> results = measure(cuda_bench, gemms);
  if (!results.empty()) {
    fmt::print("{}\n{}", bench_shapes(results), bench_means(results));
    std::fflush(stdout);
  }
  // Minutes of row operations may be cut off.
  if (!results.empty() && !rows.operations.empty()) write(arguments.json, bench_json(results, gpu));
  const std::vector<BenchResult> row_results = measure(cuda_rows_bench, rows);
  if (!row_results.empty()) fmt::print("{}", bench_table(row_results));
  results.insert(results.end(), row_results.begin(), row_results.end());
  write(arguments.json, bench_json(results, gpu));
}
#endif

void run_cpu_bench(const Arguments& arguments, const NamedOperations& operations) {
  const BenchOptions options = read(arguments, operations);
  require_writable(arguments.json);
  fmt::print("{}, {} threads, medians of {} rounds\n", machine_name(), options.threads,
             options.rounds);
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.5) {
    fmt::print("load average {:.1f}: other programs are running and disturb the figures\n", load);
  }
  std::fflush(stdout);
  std::vector<BenchResult> results;
  {
    std::optional<terminal::Progress> line;
    results = bench(options, [&](int64_t done, int64_t total) {
      if (!line) line.emplace("bench", total);
      line->show(done);
    });
  }
  fmt::print("{}", bench_table(results));
  write(arguments.json, bench_json(results));
}

void run_bench(const Arguments& arguments) {
  require_backend(arguments.backend);
  if (arguments.backend == "sim") {
    throw Error("--backend sim: the simulator knows no times; it is for coda check");
  }
  const NamedOperations operations(arguments.operations, arguments.backend);
#if defined(CODA_HAS_CUDA)
  if (arguments.backend == "cuda") return run_cuda_bench(arguments, operations);
#endif
  run_cpu_bench(arguments, operations);
}

}  // namespace

void add_bench(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("bench", "Measures operations beside their baselines");
  auto arguments = std::make_shared<Arguments>();
  arguments->dtypes = {"bf16", "fp32"};
  command
      ->add_option("operation", arguments->operations,
                   "Operations to measure, or folders and headers of own programs; "
                   "the whole catalogue if left out")
      ->type_name("");
  const auto option = [&](const char* name, auto& value, const char* type, const char* what) {
    return command->add_option(name, value, what)->type_name(type);
  };
  option("--backend", arguments->backend, "NAME", "Where to run: cpu, or cuda")
      ->capture_default_str();
  option("--shape", arguments->shapes, "MxNxK",
         "N of one accumulator (cuda: N and K of the weight); without a GEMM M tokens of width N, "
         "K the vocabulary; may be repeated")
      ->allow_extra_args(false)
      ->default_str("cpu: 1024x1024x1024 4096x2048x2048 2048x5632x2048");
  option("--dtype", arguments->dtypes, "TYPE", "Type of all tensors; may be repeated")
      ->allow_extra_args(false)
      ->default_str("bf16 fp32");
  option("--variant", arguments->variants, "NAME", "This variant instead; may be repeated")
      ->allow_extra_args(false);
  option("--threads", arguments->threads, "N", "Threads of every contender")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024).description(""));
  option("--rounds", arguments->rounds, "N", "Rounds that medians are taken of")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000).description(""));
  option("--isa", arguments->isa, "NAME", "Instruction set; the widest one if left out");
  command->add_flag("--all-ports", arguments->all_ports, "Give the optional ports too");
  option("--json", arguments->json, "FILE", "Where to write the results");
  command->callback([arguments] { run_bench(*arguments); });
}

}  // namespace coda::tools
