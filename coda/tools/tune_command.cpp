#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "coda/core/error.h"
#include "coda/plan/tuning_file.h"
#include "coda/tools/command_line.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#include "coda/tools/cuda_bench.h"
#endif
#include "coda/terminal/progress.h"
#include "coda/tools/parse_shape.h"
#include "coda/tools/tune.h"

namespace coda::tools {
namespace {

struct Arguments {
  std::vector<std::string> operations, shapes;
  std::string backend = "cuda", cache;
  int rounds = 20;
};

std::vector<const catalogue::Operation*> find_operations(const std::vector<std::string>& names) {
  const auto all = catalogue::operations();
  std::vector<const catalogue::Operation*> result;
  for (const std::string& name : names) result.push_back(&catalogue::find_operation(name));
  if (names.empty()) result.assign(all.begin(), all.end());
  // Without a GEMM there is no kernel to choose.
  std::erase_if(result, [](const catalogue::Operation* o) { return !o->has_operands; });
  return result;
}

#if defined(CODA_HAS_CUDA)
std::string cache_path(const Arguments& arguments) {
  if (!arguments.cache.empty()) return arguments.cache;
  const char* path = std::getenv("CODA_TUNING_CACHE");
  return path != nullptr && *path != '\0' ? path : "coda_tuning.txt";
}

// Shape by shape, each written before the next is measured: who stops it keeps what is done.
std::vector<TunedChoice> tune(CudaBenchOptions options, const std::vector<Shape>& shapes,
                              const std::string& path) {
  const plan::Device& device = cuda::device_facts(0);
  std::vector<TunedChoice> choices;
  std::optional<terminal::Progress> line;
  int64_t shapes_done = 0;
  for (const Shape& shape : shapes) {
    options.shapes = {shape};
    const auto results = cuda_bench(options, [&](int64_t done, int64_t total) {
      if (!line) line.emplace("tune", total * static_cast<int64_t>(shapes.size()));
      line->show(shapes_done * total + done);
    });
    const auto found = tuned_choices(results, device);
    plan::merge_tuning(path, tuning_of(found));
    choices.insert(choices.end(), found.begin(), found.end());
    ++shapes_done;
  }
  return choices;
}
#endif

void run_tune(const Arguments& arguments) {
  const auto operations = find_operations(arguments.operations);
  std::vector<Shape> shapes;
  for (const std::string& text : arguments.shapes) shapes.push_back(parse_shape(text));
  require_backend(arguments.backend);
  if (arguments.backend != "cuda") {
    throw Error(
        fmt::format("tune: expected --backend cuda, got '{}', whose kernels are not chosen "
                    "by their speed",
                    arguments.backend));
  }
#if defined(CODA_HAS_CUDA)
  if (shapes.empty()) shapes = cuda_bench_shapes();
  const std::string path = cache_path(arguments);
  plan::use_tuning({});          // compared with the prediction, not with an earlier cache
  cuda::device_facts(0);         // throws where there is no GPU to measure,
  plan::merge_tuning(path, {});  // and where nothing can be written: before minutes of measuring
  const auto choices = tune({operations, {}, arguments.rounds}, shapes, path);
  fmt::print("{}written to {}; CODA_TUNING_CACHE={} makes launches use it\n", tune_table(choices),
             path, path);
#endif
}

}  // namespace

void add_tune(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("tune", "Measures the kernels of operations and keeps the fastest");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("operation", arguments->operations, "Operations to measure; all if left out")
      ->type_name("");
  const auto option = [&](const char* name, auto& value, const char* type, const char* what) {
    return command->add_option(name, value, what)->type_name(type);
  };
  option("--backend", arguments->backend, "NAME", "Whose kernels: cuda")->capture_default_str();
  option("--shape", arguments->shapes, "MxNxK",
         "M tokens, N and K of the weight; may be repeated; those of coda bench if left out")
      ->allow_extra_args(false);
  option("--cache", arguments->cache, "FILE",
         "Where to add the choices; CODA_TUNING_CACHE if left out, or else coda_tuning.txt");
  option("--rounds", arguments->rounds, "N", "Rounds that medians are taken of")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000).description(""));
  command->callback([arguments] { run_tune(*arguments); });
}

}  // namespace coda::tools
