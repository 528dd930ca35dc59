// What an operation costs on a GPU, from counts alone: bytes, arithmetic, the roofline, the tile
// that would be chosen, and the time of the fused program beside that of a GEMM and its
// operators.
#pragma once
#include "coda/catalogue/operation.h"
#include "coda/plan/predict.h"
#include "coda/trace/traffic.h"

namespace coda::tools {

struct Gpu {
  std::string name;
  plan::Device device;
  double peak_flops = 0, memory_bytes_per_second = 0;  // of its data sheet
};
const Gpu& find_gpu(const std::string& name);  // throws coda::Error

struct Explanation {
  trace::Graph graph;
  trace::Traffic traffic;
  double roofline_seconds = 0;
  kernel::TileConfig config;       // of the tile that would be chosen
  std::string tile;                // its name: "pp128x192_s5_c2x1_n32"
  int threads = 0, registers = 0;  // of a multiplying thread
  int shared_bytes = 0;            // 0: of no kernel in this build
  double l2_bytes_per_tensor_clock = 0;
  double seconds = 0, gemm_seconds = 0, compiled_seconds = 0, eager_seconds = 0;
};

// The instance that benchmarks run: without optional inputs but for row factors and frequencies,
// with optional outputs; `with` and `without` say otherwise by name.
trace::Instance usual_instance(const ProgramView& program, const std::vector<std::string>& with,
                               const std::vector<std::string>& without);

std::string port_list(const ProgramView& program);  // names, for messages

// kernels: those compiled for the program, from which one is chosen; none: any tile.
Explanation explain(trace::Graph graph, std::span<const plan::KernelEntry> kernels,
                    const trace::TrafficShape& shape, const Gpu& gpu, plan::Regime regime);
Explanation explain(const catalogue::Variant& variant, const trace::Instance& instance,
                    const trace::TrafficShape& shape, const Gpu& gpu, plan::Regime regime);

// The program's formula, its ports, and what it costs, for people.
std::string explanation_text(const Explanation& explanation, const trace::TrafficShape& shape,
                             DType operand, const Gpu& gpu, plan::Regime regime);

}  // namespace coda::tools
