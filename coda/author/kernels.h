// Which kernels an author's program is compiled to, for the GPU and the simulator: A [M, K] and
// B [N, K], on a wide and a narrow tile that its ports fit, for every set of optional outputs. A
// Manifest that the author writes in NAME_kernels.h (coda/plan/manifest.h) stands instead.
#pragma once
#include <string>
#include <vector>

#include "coda/plan/manifest.h"
#include "coda/program/describe.h"

namespace coda::author {

struct KernelChoice {
  int tile = 0;
  uint32_t given = 0;
};

namespace detail {

// Optional ports that a kernel takes given or not: those that are read as vectors or numbers.
template <class P>
constexpr uint32_t either_ports() {
  uint32_t result = 0;
  P program{};
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if (PortType::kOptional && (coda::detail::vector_ports<P>() >> index & 1) != 0) {
      result |= 1u << index;
    }
  });
  return result;
}

// What else a kernel is compiled for: optional tensors and reductions, and choices.
template <class P>
constexpr uint32_t decided_ports() {
  uint32_t result = 0;
  P program{};
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if (PortType::kOptional || requires { PortType::kChoices; }) result |= 1u << index;
  });
  return result & ~either_ports<P>();
}

// Whether tensors come in as both halves of heads, which kernels do not load.
template <class P>
constexpr bool loads_pairs() {
  bool result = false;
  P program{};
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    result |= PortType::kKind == PortKind::kPerElement && PortType::kPaired;
  });
  return result;
}

// Bytes of shared memory that ports may take of a consumer beside the stages of a tile.
constexpr int free_bytes(const kernel::TileConfig& tile) {
  const int stage = (tile.rows + tile.columns) * kernel::kBlockDepth * 2;
  constexpr int kBarriers = 512;
  return (kernel::kSharedMemoryLimit - tile.stages * stage - kBarriers) / 2;
}

template <class P>
constexpr epilogue::Staging<P> staging_of(const kernel::TileConfig& tile, uint32_t given) {
  const int rows = tile.pingpong ? tile.rows : tile.rows / 2;
  return epilogue::stage_ports<P>(given | either_ports<P>(), rows,
                                  tile.columns / accumulators_of<P>(), tile.sub_columns,
                                  tile.in_place);
}

// Of a thread that multiplies: its accumulators, what it has besides, and what any code takes for
// addresses and barriers, as the warps that feed (KernelTraits::kFeederRegisters).
constexpr int free_registers(const kernel::TileConfig& tile) {
  const int accumulators = tile.rows * tile.columns / (tile.pingpong ? 128 : 256);
  return (accumulators > 128 ? 240 : 232) - 24 - accumulators;
}

// Running states of row reductions, of the two rows that a thread has.
template <class P>
constexpr int row_state_registers(uint32_t given) {
  int result = 0;
  for (const epilogue::PortInfo& info : epilogue::port_infos<P>(given)) {
    if (info.kind == PortKind::kRowReduce && info.given) result += 2 * info.state_floats;
  }
  return result;
}

// What a program has of a tile besides shared memory.
struct Needs {
  int accumulators = 1;
  int states = 0;       // registers of its row reductions
  int row_partial = 1;  // columns of its widest row partial
};

template <class P>
constexpr Needs needs_of(uint32_t given) {
  Needs result{accumulators_of<P>(), row_state_registers<P>(given)};
  P program{};
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if constexpr (PortType::kKind == PortKind::kRowReduce) {
      const bool there = !PortType::kOptional || (given >> index & 1) != 0;
      if (there && PortType::kWidth > result.row_partial) result.row_partial = PortType::kWidth;
    }
  });
  return result;
}

constexpr bool holds_row_partials(const kernel::TileConfig& tile, const Needs& needs) {
  return tile.columns / needs.accumulators % needs.row_partial == 0;
}

// The rules of KernelTraits, which would not compile, and registers, which would be spilled.
// staging: of the program's ports on this tile.
template <int kCount>
constexpr bool fits_tile(const kernel::TileConfig& tile, const Needs& needs,
                         const epilogue::StagingOf<kCount>& staging) {
  const int columns = tile.columns / needs.accumulators;
  const int subs = (tile.pingpong ? tile.rows : tile.rows / 2) / 64 * (columns / tile.sub_columns);
  const epilogue::Room room = epilogue::fit_room(staging, subs, free_bytes(tile));
  return free_bytes(tile) >= room.bytes() && room.sets.inputs >= 0 &&
         holds_row_partials(tile, needs) && needs.states <= free_registers(tile);
}

inline constexpr int kWideTiles[] = {2, 3, 10}, kNarrowTiles[] = {1, 9};
// Combining many states at a time takes registers, which the wide tiles have for one reduction to
// two numbers (log Σ exp) and no more.
inline constexpr int kWideStates = 4;

// add(tile) for the first wide and the first narrow tile that fits(tile). states: registers of row
// reductions.
template <class Fits, class Add>
constexpr void choose_tiles(bool combines_states, int states, Fits&& fits, Add&& add) {
  const auto add_first = [&](const auto& tiles) {
    for (const int tile : tiles) {
      if (!fits(tile)) continue;
      add(tile);
      return;
    }
  };
  if (!combines_states || states <= kWideStates) add_first(kWideTiles);
  add_first(kNarrowTiles);
}

inline constexpr int kMostSets = 4;  // of optional ports, before there are only all and none

struct KernelChoices {
  KernelChoice choice[2 * kMostSets] = {};
  int count = 0;
};

template <class P>
constexpr KernelChoices choose_kernels() {
  KernelChoices result;
  if (loads_pairs<P>()) return result;
  const auto add = [&](uint32_t given) {
    const Needs needs = needs_of<P>(given);
    const auto fits = [&](int tile) {
      const kernel::TileConfig config = kernel::kTileConfigs[tile];
      return fits_tile(config, needs, staging_of<P>(config, given));
    };
    choose_tiles(coda::detail::combines_states<P>(), needs.states, fits,
                 [&](int tile) { result.choice[result.count++] = {tile, given}; });
  };
  constexpr uint32_t kDecided = decided_ports<P>();
  if (stdlib::popcount(kDecided) <= 2) {
    uint32_t given = kDecided;
    add(given);
    while (given != 0) add(given = (given - 1) & kDecided);
  } else {
    add(kDecided);
    add(0);
  }
  return result;
}

template <class P, class T, int... kIndex>
constexpr auto default_kernels(stdlib::integer_sequence<int, kIndex...>) {
  constexpr KernelChoices kAll = choose_kernels<P>();
  return plan::KernelList<plan::ForwardEither<P, T, kAll.choice[kIndex].tile, either_ports<P>(),
                                              kAll.choice[kIndex].given>...>{};
}

}  // namespace detail

// Of the author's choice.
template <class P>
constexpr bool has_manifest() {
  return requires { typename plan::Manifest<P>::Kernels; };
}

template <class P>
constexpr bool has_kernels() {
  return has_manifest<P>() || detail::choose_kernels<P>().count > 0;
}

namespace detail {
template <class... K, class... L>
constexpr auto operator+(plan::KernelList<K...>, plan::KernelList<L...>) {
  return plan::KernelList<K..., L...>{};
}
}  // namespace detail

// A KernelList, for operands of the types T.
template <class P, class... T>
constexpr auto all_kernels() {
  if constexpr (has_manifest<P>()) {
    return typename plan::Manifest<P>::Kernels{};
  } else {
    using detail::operator+;
    using Indices = stdlib::make_integer_sequence<int, detail::choose_kernels<P>().count>;
    return (detail::default_kernels<P, T>(Indices{}) + ...);
  }
}

// What a port takes of a consumer, one of two, beside the operands.
struct PortCost {
  std::string port;
  int shared_bytes = 0;
  int registers = 0;  // of a thread, for as long as a tile lasts
};
std::vector<PortCost> port_costs(const ProgramView& program, const kernel::TileConfig& tile);

// Throws coda::Error that says what keeps it from every tile: a port, or what each of them takes.
[[noreturn]] void fail_kernels(const ProgramView& program);

// Throws where no tile has room for the program's ports, or kernels do not know them.
template <class P>
void require_kernels() {
  if constexpr (!has_kernels<P>()) fail_kernels(describe(P{}));
}

}  // namespace coda::author
