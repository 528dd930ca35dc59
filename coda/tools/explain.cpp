#include "coda/tools/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "coda/core/error.h"
#include "coda/plan/choose.h"
#if defined(CODA_HAS_SIMULATOR)
#include "coda/catalogue/simulated.h"
#endif

namespace coda::tools {
namespace {

constexpr double kLaunchSeconds = 2e-6;  // between two kernels of one stream
constexpr int kConsumerRegisters = 232;  // setmaxnreg of the warps that multiply

Problem problem_of(const trace::TrafficShape& shape, const ProgramView& program) {
  Problem problem;
  problem.rows = {1, {0, shape.M}};
  problem.columns = {1, {0, shape.N}};
  problem.contraction = {1, {0, shape.K}};
  if (program.halves) problem.head_dim = shape.head_dim;
  return problem;
}

// Of the manifest, of which a build may have compiled some alone for the GPU; of an author's
// program those that it would have.
std::span<const plan::KernelEntry> manifest_of(const catalogue::Variant& variant) {
#if defined(CODA_HAS_SIMULATOR)
  const catalogue::SimulatedProgram* simulated = catalogue::find_simulated(variant);
  if (simulated != nullptr) return simulated->kernels();
#endif
  if (variant.cuda_kernels == nullptr) return {};
  return variant.cuda_kernels();
}

// Those for the operand, its heads and what is given; without any, every tile.
std::vector<plan::KernelEntry> candidates(std::span<const plan::KernelEntry> kernels,
                                          const ProgramView& program, const Problem& problem) {
  std::vector<plan::KernelEntry> result;
  uint32_t given = 0;
  for (size_t i = 0; i < program.ports.size(); ++i) {
    if (program.ports[i].optional && program.ports[i].given) given |= 1u << i;
  }
  for (const plan::KernelEntry& kernel : kernels) {
    const bool heads = !kernel.halves || plan::takes_half(kernel, problem.head_dim / 2);
    if (heads && ((kernel.given ^ given) & ~kernel.either) == 0) result.push_back(kernel);
  }
  if (!result.empty()) return result;
  for (const kernel::TileConfig& tile : kernel::kTileConfigs) {
    result.emplace_back().config = tile;
    result.back().accumulators = program.accumulators;
  }
  return result;
}

struct Choice {
  plan::KernelEntry kernel;
  double seconds = std::numeric_limits<double>::infinity();
};

Choice fastest(const std::vector<plan::KernelEntry>& kernels, const ProgramView& program,
               const Problem& problem, const Gpu& gpu, plan::Regime regime) {
  Choice best;
  for (const plan::KernelEntry& kernel : kernels) {
    const double seconds = predict_seconds(kernel, program, problem, gpu.device, regime);
    if (seconds < best.seconds) best = {kernel, seconds};
  }
  return best;
}

// A GEMM that does nothing but store its accumulators.
ProgramView plain(const ProgramView& program, int64_t element_bytes) {
  ProgramView result{"gemm", program.accumulators, false, false, {}};
  for (int i = 0; i < program.accumulators; ++i) {
    PortView store;
    store.given = true;
    store.element_bytes = element_bytes;
    result.ports.push_back(store);
  }
  return result;
}

}  // namespace

const Gpu& find_gpu(const std::string& name) {
  // NVIDIA's data sheets: dense bf16, and HBM3e or HBM3.
  static const std::vector<Gpu> known{{"h200", {132, "NVIDIA H200"}, 989e12, 4.8e12},
                                      {"h100", {132, "NVIDIA H100 80GB HBM3"}, 989e12, 3.35e12}};
  for (const Gpu& gpu : known) {
    if (gpu.name == name) return gpu;
  }
  throw Error(fmt::format("no GPU '{}' is known; there are h200, h100", name));
}

std::string port_list(const ProgramView& program) {
  std::vector<std::string> names;
  for (const PortView& port : program.ports) {
    names.push_back(port.optional ? port.name + " (optional)" : port.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

trace::Instance usual_instance(const ProgramView& program, const std::vector<std::string>& with,
                               const std::vector<std::string>& without) {
  trace::Instance result;
  for (const PortView& port : program.ports) {
    const bool usual = !is_input(port.kind) || port.kind == PortKind::kPerRowFrom ||
                       port.kind == PortKind::kPerHead;
    if (port.optional && usual) result.given.insert(port.name);
  }
  const auto optional_port = [&](const std::string& name) {
    const auto port = std::ranges::find(program.ports, name, &PortView::name);
    if (port != program.ports.end() && port->optional) return;
    throw Error(fmt::format("{} has no optional port '{}'; it has the ports {}", program.name, name,
                            port_list(program)));
  };
  for (const std::string& name : with) {
    optional_port(name);
    result.given.insert(name);
  }
  for (const std::string& name : without) {
    optional_port(name);
    result.given.erase(name);
  }
  return result;
}

Explanation explain(const catalogue::Variant& variant, const trace::Instance& instance,
                    const trace::TrafficShape& shape, const Gpu& gpu, plan::Regime regime) {
  if (variant.trace == nullptr) {
    throw Error(
        fmt::format("{} is no GEMM program: there is no graph of it", variant.program.name));
  }
  std::vector<plan::KernelEntry> kernels;
  std::ranges::copy_if(manifest_of(variant), std::back_inserter(kernels),
                       [&](const auto& kernel) { return kernel.operand == variant.operand; });
  return explain(variant.trace(instance), kernels, shape, gpu, regime);
}

Explanation explain(trace::Graph graph, std::span<const plan::KernelEntry> kernels,
                    const trace::TrafficShape& shape, const Gpu& gpu, plan::Regime regime) {
  Explanation result;
  result.graph = std::move(graph);
  result.traffic = traffic_of(result.graph, shape);
  const trace::Traffic& traffic = result.traffic;
  const ProgramView& program = result.graph.program;
  const Problem problem = problem_of(shape, program);
  result.roofline_seconds = std::max(traffic.gemm_flops / gpu.peak_flops,
                                     traffic.fused_bytes / gpu.memory_bytes_per_second);

  const Choice choice =
      fastest(candidates(kernels, program, problem), program, problem, gpu, regime);
  const kernel::TileConfig& tile = choice.kernel.config;
  result.config = tile;
  result.tile = plan::config_name(tile);
  result.threads = kernel::kThreads;
  result.registers = kConsumerRegisters;
  result.shared_bytes = choice.kernel.shared_bytes;
  const double stage = 2.0 * kernel::kBlockDepth *
                       (static_cast<double>(tile.rows) / tile.cluster_columns +
                        static_cast<double>(tile.columns) / tile.cluster_rows);
  result.l2_bytes_per_tensor_clock = stage / (tile.rows / 128.0 * tile.columns * 4);
  result.seconds = choice.seconds;

  // Beside it: the same GEMM alone, then its operators, limited by memory.
  const ProgramView bare = plain(program, shape.operand_bytes);
  result.gemm_seconds = fastest(candidates({}, bare, problem), bare, problem, gpu, regime).seconds;
  const double stored = static_cast<double>(shape.M) * static_cast<double>(shape.N) *
                        program.accumulators * static_cast<double>(shape.operand_bytes);
  const double bandwidth = plan::kMemoryBytesPerSecond * gpu.memory_bytes_per_second /
                           find_gpu("h200").memory_bytes_per_second;
  const auto after = [&](double bytes, int passes) {
    return result.gemm_seconds + (bytes - traffic.operand_bytes - stored) / bandwidth +
           passes * kLaunchSeconds;
  };
  result.compiled_seconds = after(traffic.compiled_bytes, 1);
  result.eager_seconds = after(traffic.eager_bytes, traffic.eager_passes);
  return result;
}

}  // namespace coda::tools
