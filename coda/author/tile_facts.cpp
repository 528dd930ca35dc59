#include "coda/author/tile_facts.h"

#include <algorithm>

namespace coda::author {
namespace {

using Staging = epilogue::StagingOf<kMaxPorts>;

Staging stage(const ProgramView& program, const kernel::TileConfig& tile) {
  epilogue::PortInfo infos[kMaxPorts] = {};
  for (size_t i = 0; i < program.ports.size(); ++i) {
    const PortView& port = program.ports[i];
    const int bytes = static_cast<int>(port.element_bytes);
    const bool reduces = port.kind == PortKind::kRowReduce || port.kind == PortKind::kColumnReduce;
    infos[i] = {.kind = port.kind,
                .bytes = bytes,
                .values = 1,
                .state_floats = reduces ? bytes / 4 : 0,
                .given = true};
  }
  return epilogue::stage(infos, tile.pingpong ? tile.rows : tile.rows / 2,
                         tile.columns / program.accumulators, tile.sub_columns, tile.in_place);
}

TileFacts facts_of(int index, int accumulators, const Staging& staging) {
  const kernel::TileConfig tile = kernel::kTileConfigs[index];
  const int row_blocks = (tile.pingpong ? tile.rows : tile.rows / 2) / epilogue::kRowBlock;
  const int subs = row_blocks * (tile.columns / accumulators / tile.sub_columns);
  const epilogue::Room room = epilogue::fit_room(staging, subs, detail::free_bytes(tile));
  const epilogue::BufferSets& sets = room.sets;
  const int stage = (tile.rows + tile.columns) * kernel::kBlockDepth * 2;
  const int buffers = sets.inputs * staging.input_set + sets.outputs * staging.output_set;
  const int barriers = 2 * tile.stages + 4 * (sets.inputs > 0 ? sets.inputs : 1) + 4;
  return {.tile = index,
          .shared_bytes = tile.stages * stage + 2 * (buffers + room.bytes()) + barriers * 8,
          .any_columns = row_blocks * tile.columns / 2 <= 128};
}

detail::Needs needs_of(const ProgramView& program) {
  detail::Needs result{.accumulators = program.accumulators};
  constexpr kernel::TileConfig kAny = kernel::kTileConfigs[0];  // registers are the same on all
  for (const PortCost& cost : port_costs(program, kAny)) result.states += cost.registers;
  for (const PortView& port : program.ports) {
    if (port.kind != PortKind::kRowReduce) continue;
    result.row_partial = std::max(result.row_partial, port.partial_width);
  }
  return result;
}

}  // namespace

std::vector<TileFacts> choose_tiles(const ProgramView& program, bool combines_states) {
  const detail::Needs needs = needs_of(program);
  std::vector<TileFacts> result;
  detail::choose_tiles(
      combines_states, needs.states,
      [&](int index) {
        const kernel::TileConfig tile = kernel::kTileConfigs[index];
        return detail::fits_tile(tile, needs, stage(program, tile));
      },
      [&](int index) {
        const kernel::TileConfig tile = kernel::kTileConfigs[index];
        result.push_back(facts_of(index, program.accumulators, stage(program, tile)));
      });
  if (result.empty()) fail_kernels(program);
  return result;
}

}  // namespace coda::author
