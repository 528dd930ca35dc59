// explanation_text of explain.h.
#include <fmt/format.h>

#include <algorithm>

#include "coda/author/kernels.h"
#include "coda/terminal/table.h"
#include "coda/tools/explain.h"
#include "coda/trace/print_cpp.h"
#include "coda/trace/recognise.h"

namespace coda::tools {
namespace {

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

// Of each of the two consumers, a set of buffers.
std::string on_chip(const author::PortCost& cost) {
  if (cost.registers > 0) return fmt::format("{} registers", cost.registers);
  return cost.shared_bytes > 0 ? fmt::format("{} B", cost.shared_bytes) : "";
}

std::string costs_text(const Explanation& e, const Gpu& gpu, plan::Regime regime) {
  std::string text;
  const auto add = [&]<class... T>(fmt::format_string<T...> format, T&&... values) {
    text += fmt::format(format, std::forward<T>(values)...);
  };
  const trace::Traffic& t = e.traffic;
  add("\narithmetic: {:.1f} GFLOP in the GEMM, {:.2f} in the epilogue\n", t.gemm_flops / 1e9,
      t.element_flops / 1e9);
  add("bytes: {} fused; {} as a GEMM and one pass; {} operator by operator ({} passes)\n",
      bytes_text(t.fused_bytes), bytes_text(t.compiled_bytes), bytes_text(t.eager_bytes),
      t.eager_passes);
  add("roofline on {}: {:.1f} us\n", gpu.device.name, e.roofline_seconds * 1e6);
  const std::string shared = e.shared_bytes > 0
                                 ? bytes_text(e.shared_bytes) + " of shared memory"
                                 : "no kernel of the library (the fastest of all tiles)";
  add("tile: {}; {} threads, {} registers where they multiply, {}; {:.1f} bytes from L2 per "
      "tensor clock\n",
      e.tile, e.threads, e.registers, shared, e.l2_bytes_per_tensor_clock);
  add("predicted, {} data: {:.1f} us; the GEMM alone {:.1f} us\n",
      regime == plan::Regime::kRandom ? "random (power-limited)" : "all-zero (clock-limited)",
      e.seconds * 1e6, e.gemm_seconds * 1e6);
  add("predicted speedup: {:.2f} over a GEMM and one pass ({:.1f} us), {:.2f} over operator by "
      "operator ({:.1f} us)\n",
      e.compiled_seconds / e.seconds, e.compiled_seconds * 1e6, e.eager_seconds / e.seconds,
      e.eager_seconds * 1e6);
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& e, const trace::TrafficShape& shape, DType operand,
                             const Gpu& gpu, plan::Regime regime) {
  std::string text = fmt::format("the program, M = {}, N = {}, K = {}:\n{}\n", shape.M, shape.N,
                                 shape.K, trace::print_formula(trace::recognise(e.graph)));
  terminal::Table table({{"port"}, {"kind"}, {"shape"}, {"type"}, {"use"}, {"bytes"}, {"on chip"}});
  table.add(
      {"A, B", "operands", "", dtype_name(operand), "in", bytes_text(e.traffic.operand_bytes), ""});
  const auto costs = author::port_costs(e.graph.program, e.config);
  for (const trace::PortTraffic& port : e.traffic.ports) {
    table.add({port.name, port.kind, port.shape, port.type, port.input ? "in" : "out",
               bytes_text(port.bytes),
               on_chip(*std::ranges::find(costs, port.name, &author::PortCost::port))});
  }
  return text + table.text(2) + costs_text(e, gpu, regime);
}

}  // namespace coda::tools
