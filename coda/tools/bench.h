// Measures operations: all contenders of a shape take turns in one process (A B C A B C ...), and
// medians are compared. docs/benchmarking.md says what the figures mean.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coda/tools/workload.h"

namespace coda::tools {

struct BenchOptions {
  std::vector<const catalogue::Operation*> operations;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;          // variants of one of these types throughout
  std::vector<std::string> variants;  // if not empty: these instead, whatever their types
  int threads = 2;
  int rounds = 20;
  std::optional<cpu::Isa> isa;
  bool all_ports = false;
};

struct BenchResult {
  std::string operation, variant;
  DType dtype = DType::kBf16;
  Shape shape;
  std::string backend = "cpu";
  std::string layout = "forward";  // of the operands: "forward", "dX", "dW"
  std::string regime = "random";   // of the data
  std::string config;
  bool chosen = true;              // the configuration is the one taken by default
  bool chosen_whole = false;       // on the GPU: the one taken without a workspace
  int slices = 1;                  // on the GPU: of the contraction
  std::vector<std::string> ports;  // optional ones that were given
  int rounds = 0;
  double ms = 0;
  std::string baseline;  // "openblas", "linear" (coda's own plain GEMM), "copy" or none
  double baseline_ms = 0;
  double usual_ms = 0;  // on the GPU: what cublasGemmEx, and with it torch.mm, takes
  double tflops = 0;
  double gigabytes_per_s = 0;  // read and written, of what memory bounds
  std::optional<double> clock_mhz, power_w;

  double speedup() const { return baseline_ms / ms; }
};

// `progress` hears how many of how many runs are done.
std::vector<BenchResult> bench(const BenchOptions& options,
                               const std::function<void(int64_t, int64_t)>& progress);

std::string bench_table(std::span<const BenchResult> results);

// The chosen configuration at every shape: a line per operation, layout and regime.
std::string bench_shapes(std::span<const BenchResult> results);

// Geometric means over the shapes: a line per operation and layout, for the chosen configuration
// and for the fastest of each shape.
std::string bench_means(std::span<const BenchResult> results);

// Of the machine: nothing where no GPU was used.
struct BenchGpu {
  std::string name;
  double launch_us = 0, launch_by_name_us = 0;  // of the host's time
};
std::string bench_json(std::span<const BenchResult> results,
                       const std::optional<BenchGpu>& gpu = {});

}  // namespace coda::tools
