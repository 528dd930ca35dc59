// What a program's ports need of a block: buffers in which tile ports travel, vectors per row and
// per column, running column states. Worked out at compile time from the program's type and from
// which of its optional ports are given.
#pragma once
#include "coda/program/program.h"

namespace coda::epilogue {

inline constexpr int kRowBlock = 64;     // rows of a sub-tile: one wgmma, one column partial
inline constexpr int kMaxGroupSums = 2;  // over the columns of a head, that a program may take

// Columns that a program sees at a time: as many of a sub-tile as divide it, up to `most`.
constexpr int chunk_of(int sub_columns, int most) {
  int chunk = most;
  while (sub_columns % chunk != 0) chunk -= 8;
  return chunk;
}

struct PortInfo {
  PortKind kind = PortKind::kStore;
  int bytes = 0;         // of an element, of both halves where it is paired
  int values = 1;        // per row or column: two where it is paired
  int state_floats = 0;  // of a reduction's state
  bool given = false;
};

template <class Program>
using PortInfos = stdlib::array<PortInfo, port_count<Program>>;

// `given`: bit i for port i; required ports count as given.
template <class Program>
constexpr PortInfos<Program> port_infos(uint32_t given) {
  PortInfos<Program> result{};
  Program program{};
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    PortInfo& info = result[index];
    info.kind = PortType::kKind;
    info.bytes = sizeof(typename PortType::Element) * (PortType::kPaired ? 2 : 1);
    info.values = PortType::kPaired ? 2 : 1;
    info.given = !PortType::kOptional || (given >> index & 1) != 0;
    if constexpr (ReducePort<PortType>) info.state_floats = sizeof(typename PortType::State) / 4;
  });
  return result;
}

// Offsets within the memory of one consumer. -1: the port has no place there.
template <int kCount>
struct StagingOf {
  static constexpr int kPorts = kCount;
  int tile_offset[kPorts] = {};       // of a tile port within a set of buffers
  int vector_offset[kPorts] = {};     // of a vector
  int column_offset[kPorts] = {};     // of a warp's column states
  int inputs = 0, outputs = 0;        // tile ports
  int element_bytes = 0;              // of an element of all of them
  int input_bytes = 0;                // what TMA brings per sub-tile
  int input_set = 0, output_set = 0;  // bytes; in place, inputs and outputs share input_set
  int vector_bytes = 0;
  int column_bytes = 0;  // of one warp
  bool reduces_rows = false;
  bool in_place = false;
  bool stores_halves = false;  // some output has elements of two bytes
  bool finishes_rows = false;  // from partials
};

template <class Program>
using Staging = StagingOf<port_count<Program>>;

template <int kCount>
constexpr StagingOf<kCount> stage(const PortInfo (&infos)[kCount], int tile_rows, int tile_columns,
                                  int sub_columns, bool in_place) {
  StagingOf<kCount> s;
  const int elements = kRowBlock * sub_columns;
  int input_place[kMaxPorts] = {}, output_place[kMaxPorts] = {};
  for (int i = 0; i < s.kPorts; ++i) {
    s.tile_offset[i] = s.vector_offset[i] = s.column_offset[i] = -1;
    if (!infos[i].given) continue;
    switch (infos[i].kind) {
      case PortKind::kPerElement:
        input_place[s.inputs++] = i;
        s.element_bytes += infos[i].bytes;
        s.input_bytes += elements * infos[i].bytes;
        break;
      case PortKind::kStore:
        output_place[s.outputs++] = i;
        s.element_bytes += infos[i].bytes;
        s.stores_halves |= infos[i].bytes / infos[i].values == 2;
        break;
      case PortKind::kPerRow:
      case PortKind::kPerRowFrom:
        s.finishes_rows |= infos[i].kind == PortKind::kPerRowFrom;
        s.vector_offset[i] = s.vector_bytes;
        s.vector_bytes += tile_rows * 4;
        break;
      case PortKind::kPerColumn:
      case PortKind::kPerHead:
        s.vector_offset[i] = s.vector_bytes;
        s.vector_bytes += tile_columns * infos[i].values * 4;
        break;
      case PortKind::kColumnReduce:
        s.column_offset[i] = s.column_bytes;
        s.column_bytes += tile_columns * infos[i].state_floats * 4;
        break;
      case PortKind::kRowReduce: s.reduces_rows = true; break;
      case PortKind::kScalar:
      case PortKind::kPairTable: break;
    }
  }
  s.in_place = in_place && s.inputs > 0 && s.outputs > 0;
  for (int k = 0; k < s.inputs || k < s.outputs; ++k) {
    const int in = k < s.inputs ? elements * infos[input_place[k]].bytes : 0;
    const int out = k < s.outputs ? elements * infos[output_place[k]].bytes : 0;
    // An output whose elements have another size than the input's would overwrite columns, and
    // other warps' lines, that have not been read yet: it lies behind the input.
    const int behind = in == out ? 0 : in;
    if (k < s.inputs) s.tile_offset[input_place[k]] = s.input_set;
    if (k < s.outputs) {
      s.tile_offset[output_place[k]] = s.in_place ? s.input_set + behind : s.output_set;
    }
    s.input_set += s.in_place ? behind + out : in;
    s.output_set += s.in_place ? 0 : out;
  }
  return s;
}

template <class Program>
constexpr Staging<Program> stage_ports(uint32_t given, int tile_rows, int tile_columns,
                                       int sub_columns, bool in_place) {
  const auto infos = port_infos<Program>(given);
  PortInfo list[port_count<Program>] = {};
  for (int i = 0; i < port_count<Program>; ++i) list[i] = infos[static_cast<size_t>(i)];
  return stage(list, tile_rows, tile_columns, sub_columns, in_place);
}

// How many sets of buffers fit. Sets of inputs divide the sub-tiles, so that a sub-tile has a fixed
// one (a running one costs registers).
struct BufferSets {
  int inputs = 0, outputs = 0;
};
constexpr BufferSets fit_sets(int input_set, int output_set, int sub_tiles, int bytes) {
  constexpr int kMost = 6;
  BufferSets sets{input_set > 0 ? 1 : 0, output_set > 0 ? 1 : 0};
  const auto fits = [&](int in, int out) { return in * input_set + out * output_set <= bytes; };
  if (!fits(sets.inputs, sets.outputs)) return {-1, -1};
  for (int n = 2; n <= kMost; ++n) {
    if (input_set > 0 && sub_tiles % n == 0 && fits(n, sets.outputs)) sets.inputs = n;
    if (output_set > 0 && fits(sets.inputs, n)) sets.outputs = n;
  }
  return sets;
}

// What a consumer has of shared memory beside the stages.
struct Room {
  int vector_bytes = 0;
  int column_bytes = 0;  // two turns of four warps
  BufferSets sets;

  constexpr int bytes() const { return vector_bytes + column_bytes; }  // but buffers
};
template <int kCount>
constexpr Room fit_room(const StagingOf<kCount>& staging, int sub_tiles, int bytes) {
  Room room{(staging.vector_bytes + 15) / 16 * 16, 2 * 4 * staging.column_bytes, {}};
  room.sets = fit_sets(staging.input_set, staging.output_set, sub_tiles,
                       (bytes - room.bytes()) / 1024 * 1024);
  return room;
}

}  // namespace coda::epilogue
