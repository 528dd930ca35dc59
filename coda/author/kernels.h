// Which kernels an author's program is compiled to, for the GPU and the simulator: A [M, K] and
// B [N, K], on a wide and a narrow tile that its ports fit, for every set of optional outputs. A
// Manifest that the author writes in NAME_kernels.h (coda/plan/manifest.h) stands instead.
#pragma once
#include <string>
#include <vector>

#include "coda/plan/manifest.h"

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

// The rules of KernelTraits, which would not compile.
template <class P>
constexpr bool fits_tile(int index, uint32_t given) {
  const kernel::TileConfig tile = kernel::kTileConfigs[index];
  const epilogue::Staging<P> staging = staging_of<P>(tile, given);
  const int columns = tile.columns / accumulators_of<P>();
  const int vectors = (staging.vector_bytes + 15) / 16 * 16 + 2 * 4 * staging.column_bytes;
  const int subs = (tile.pingpong ? tile.rows : tile.rows / 2) / 64 * (columns / tile.sub_columns);
  const auto sets = epilogue::fit_sets(staging.input_set, staging.output_set, subs,
                                       (free_bytes(tile) - vectors) / 1024 * 1024);
  return free_bytes(tile) >= vectors && sets.inputs >= 0 &&
         (!staging.reduces_rows || columns % 64 == 0);
}

inline constexpr int kWideTiles[] = {2, 3, 10}, kNarrowTiles[] = {1, 9};
// Of programs that combine many states at a time: tiles on which as many meet, so that a result's
// bits do not depend on the tile.
inline constexpr int kWideStateTiles[] = {4};
template <class P>
constexpr bool combines_states() {
  bool result = false;
  P program{};
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if constexpr (ReducePort<PortType>) {
      result = result || CombinesAll<typename PortType::Reduction>;
    }
  });
  return result;
}

inline constexpr int kMostSets = 4;  // of optional ports, before there are only all and none

struct KernelChoices {
  KernelChoice choice[2 * kMostSets] = {};
  int count = 0;
};

template <class P>
constexpr KernelChoices choose_kernels() {
  KernelChoices result;
  // Two accumulators and tensors in besides leave no registers on the wide tiles.
  constexpr bool kNarrowOnly =
      accumulators_of<P>() == 2 && coda::detail::has_port_of<P>(PortKind::kPerElement);
  const auto add = [&](uint32_t given) {
    const auto first_that_fits = [&](const auto& tiles) {
      for (const int tile : tiles) {
        if (!fits_tile<P>(tile, given)) continue;
        result.choice[result.count++] = {tile, given};
        return;
      }
    };
    if constexpr (combines_states<P>()) {
      first_that_fits(kWideStateTiles);
    } else if constexpr (!kNarrowOnly) {
      first_that_fits(kWideTiles);
    }
    first_that_fits(kNarrowTiles);
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

struct PortBytes {
  std::string port;
  int bytes = 0;
};

// Throws coda::Error that says what each port takes.
[[noreturn]] void fail_shared_memory(const char* program, const std::vector<PortBytes>& ports,
                                     int free);

// Throws where no tile has room for the program's ports.
template <class P>
void require_kernels() {
  if constexpr (!has_kernels<P>()) {
    constexpr kernel::TileConfig kTile = kernel::kTileConfigs[1];
    std::vector<PortBytes> ports;
    for (int i = 0; i < port_count<P>; ++i) {
      const auto infos = epilogue::port_infos<P>(~0u);
      const int sub_tile = epilogue::kRowBlock * kTile.sub_columns;
      const int columns = kTile.columns / accumulators_of<P>();
      int bytes = 0;
      switch (infos[static_cast<size_t>(i)].kind) {
        case PortKind::kPerElement:
        case PortKind::kStore: bytes = sub_tile * infos[static_cast<size_t>(i)].bytes; break;
        case PortKind::kPerRow:
        case PortKind::kPerRowFrom: bytes = kTile.rows * 4; break;
        case PortKind::kPerColumn:
        case PortKind::kPerHead: bytes = columns * 4; break;
        case PortKind::kColumnReduce:
          bytes = 8 * columns * 4 * infos[static_cast<size_t>(i)].state_floats;
          break;
        default: break;
      }
      ports.push_back({P::port_names.name[i], bytes});
    }
    fail_shared_memory(name_of<P>(), ports, detail::free_bytes(kTile));
  }
}

}  // namespace coda::author
