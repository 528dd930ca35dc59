#include "coda/author/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "coda/core/error.h"

namespace coda::author {

std::vector<PortCost> port_costs(const ProgramView& program, const kernel::TileConfig& tile) {
  const int columns = tile.columns / program.accumulators;
  const int rows = tile.pingpong ? tile.rows : tile.rows / 2;
  std::vector<PortCost> result;
  for (const PortView& port : program.ports) {
    PortCost cost{port.name};
    const int halves = port.paired ? 2 : 1;
    const auto bytes = static_cast<int>(port.element_bytes);
    switch (port.kind) {
      case PortKind::kPerElement:
      case PortKind::kStore:
        cost.shared_bytes = epilogue::kRowBlock * tile.sub_columns * bytes * halves;
        break;
      case PortKind::kPerRow:
      case PortKind::kPerRowFrom: cost.shared_bytes = rows * 4; break;
      case PortKind::kPerColumn:
      case PortKind::kPerHead: cost.shared_bytes = columns * 4 * halves; break;
      case PortKind::kColumnReduce:  // two turns of four warps
        cost.shared_bytes = 8 * columns * bytes;
        break;
      case PortKind::kRowReduce: cost.registers = 2 * bytes / 4; break;  // of two rows
      case PortKind::kScalar:
      case PortKind::kPairTable: break;
    }
    result.push_back(cost);
  }
  return result;
}

namespace {

constexpr kernel::TileConfig kSmallest = kernel::kTileConfigs[detail::kNarrowTiles[0]];

// Ports that no tile takes, whatever else the program has.
void refuse_ports(const ProgramView& program) {
  for (const PortView& port : program.ports) {
    if (port.kind == PortKind::kPerElement && port.paired) {
      throw Error(fmt::format(
          "{}: '{}' is a Paired<PerElement>, and kernels load no tensor in halves of heads: two "
          "PerElement ports of [M, N]; it runs on the CPU as it is",
          program.name, port.name));
    }
    if (port.kind != PortKind::kRowReduce) continue;
    const detail::Needs needs{
        .accumulators = program.accumulators, .states = 0, .row_partial = port.partial_width};
    if (detail::holds_row_partials(kSmallest, needs)) continue;
    throw Error(fmt::format(
        "{}: the row partials of '{}' cover {} columns, and a tile with {} accumulators has {}: "
        "partials of {} columns, or two programs; it runs on the CPU as it is",
        program.name, port.name, port.partial_width, program.accumulators,
        kSmallest.columns / program.accumulators, kPartialWidth));
  }
}

}  // namespace

void fail_kernels(const ProgramView& program) {
  refuse_ports(program);
  std::vector<PortCost> costs = port_costs(program, kSmallest);
  int registers = 0, bytes = 0;
  for (const PortCost& cost : costs) {
    registers += cost.registers;
    bytes += cost.shared_bytes;
  }
  const bool too_many = registers > detail::free_registers(kSmallest);
  const auto of = [&](const PortCost& cost) {
    return too_many ? cost.registers : cost.shared_bytes;
  };
  std::ranges::sort(costs, {},
                    [&](const PortCost& cost) { return std::tuple(-of(cost), cost.port); });
  std::string list;
  for (const PortCost& cost : costs) {
    if (of(cost) == 0) continue;
    list += fmt::format("\n  {:>6} {}  {}", of(cost), too_many ? "registers" : "bytes", cost.port);
  }
  if (too_many) {
    throw Error(fmt::format(
        "{}: the running states of its row reductions take {} registers of a thread, {} are free "
        "beside the accumulators of the smallest tile: fewer row reductions, states of fewer "
        "numbers, or two programs; it runs on the CPU as it is{}",
        program.name, registers, detail::free_registers(kSmallest), list));
  }
  throw Error(fmt::format(
      "{}: its ports take {} bytes of shared memory, {} are free beside the operands of the "
      "smallest tile: fewer tensors over elements, bf16 instead of float, or two programs; it runs "
      "on the CPU as it is{}",
      program.name, bytes, detail::free_bytes(kSmallest), list));
}

}  // namespace coda::author
