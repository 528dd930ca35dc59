// Loads by the copy engine: from the issue on their shared memory is poisoned and locked, at a
// moment of the scheduler's choice the bytes land and the mbarrier counts them.
#include <fmt/format.h>

#include <cstring>

#include "coda/sim/mbarrier.h"
#include "coda/sim/tma.h"
#include "coda/sim/tma_map.h"

namespace coda::sim {

namespace {

class Load : public Operation {
 public:
  Load(const Call& call, Block& block, Mbarrier& barrier, uint32_t to, const TensorMap& map, int c0,
       int c1)
      : issuer_(call.thread),
        site_(call.site),
        block_(block),
        barrier_(barrier),
        to_(to),
        map_(map),
        c0_(c0),
        c1_(c1) {
    ++block.in_flight;
  }

  bool run(Machine& machine) override {
    for (uint32_t row = 0; row < map_.box_rows; ++row) copy_line(row);
    block_.memory.end_engine_write(barrier_.completed + 1, to_, map_.box_bytes());
    --block_.in_flight;
    ++machine.report.loads;
    machine.report.bytes_loaded += map_.box_bytes();
    complete_bytes(machine, issuer_, site_, barrier_, map_.box_bytes());
    return true;
  }

 private:
  void copy_line(uint32_t row) {
    const uint32_t line = map_.line_bytes(), start = to_ + row * line;
    alignas(16) uint8_t values[2048] = {};
    const Range columns = inside(c0_, map_.box_columns, map_.columns);
    const int64_t y = int64_t{c1_} + row;
    if (y >= 0 && static_cast<uint64_t>(y) < map_.rows && columns.count > 0) {
      std::memcpy(values + columns.first * map_.element_bytes,
                  map_.base + static_cast<uint64_t>(y) * map_.pitch_bytes +
                      static_cast<uint64_t>(int64_t{c0_} + columns.first) * map_.element_bytes,
                  columns.count * map_.element_bytes);
    }
    for (uint32_t i = 0; i < line; i += 16) {
      std::memcpy(block_.memory.at(swizzle(start + i, map_.swizzle_bytes)), values + i, 16);
    }
  }

  const Thread& issuer_;
  uint16_t site_;
  Block& block_;
  Mbarrier& barrier_;
  uint32_t to_;
  TensorMap map_;
  int c0_, c1_;
};

void load_into(Call& call, Block& block, uint32_t to, const TensorMap& map, uint32_t barrier,
               int c0, int c1) {
  if (block.live == 0) {
    call.fail(Violation::kExited, fmt::format("block {} has left the kernel", block.index));
  }
  Mbarrier& counted = find_mbarrier(call, block, barrier, Use::kCopy);
  block.memory.begin_engine_write(call.thread, View(call.thread.clock), counted.agent, call.site,
                                  to, map.box_bytes());
  call.machine.post(std::make_unique<Load>(call, block, counted, to, map, c0, c1));
}

}  // namespace

void check_map(const Call& call, const TensorMap* map) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) {
    call.fail(Violation::kTensorMap, "the tensor map is not aligned to 64 bytes");
  }
  if (map->mark != TensorMap::kMark) {
    call.fail(Violation::kTensorMap, "the tensor map has not been encoded");
  }
}

void check_box(const Call& call, const TensorMap& map, uint32_t address) {
  if (address % 128 != 0) {
    call.fail(Violation::kAddress,
              fmt::format("{} is not aligned to 128 bytes", describe_address(address)));
  }
  if (!call.thread.block->memory.holds(address, map.box_bytes())) {
    call.fail(Violation::kAddress, fmt::format("a box of {} bytes at {} is outside shared memory",
                                               map.box_bytes(), describe_address(address)));
  }
  if (map.swizzle_bytes != 0 && map.line_bytes() != map.swizzle_bytes) {
    call.fail(Violation::kTensorMap,
              fmt::format("lines of {} bytes in a swizzle of {}: not simulated", map.line_bytes(),
                          map.swizzle_bytes));
  }
}

Range inside(int64_t first, uint32_t count, uint64_t size) {
  const int64_t low = first < 0 ? -first : 0;
  const int64_t high = std::min<int64_t>(count, static_cast<int64_t>(size) - first);
  if (high <= low) return {0, 0};
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(high - low)};
}

void tma_prefetch_map(const TensorMap* map, Location where) {
  const Call call(where, SiteKind::kOther, "tma_prefetch_map");
  check_map(call, map);
}

void tma_prefetch(const TensorMap* map, int, int, Location where) {
  const Call call(where, SiteKind::kOther, "tma_prefetch");
  check_map(call, map);
}

void tma_load(uint32_t to, const TensorMap* map, uint32_t barrier, int c0, int c1, Location where) {
  Call call(where, SiteKind::kOther, "tma_load");
  check_map(call, map);
  check_box(call, *map, own_address(call, to));
  load_into(call, *call.thread.block, to, *map, own_address(call, barrier), c0, c1);
}

void tma_load_multicast(uint32_t to, const TensorMap* map, uint32_t barrier, int c0, int c1,
                        uint16_t blocks, Location where) {
  Call call(where, SiteKind::kOther, "tma_load_multicast");
  check_map(call, map);
  check_box(call, *map, own_address(call, to));
  own_address(call, barrier);
  auto& all = call.thread.block->cluster.blocks;
  if (blocks == 0 || blocks >> all.size() != 0) {
    call.fail(Violation::kBarrier,
              fmt::format("blocks {:#x} in a cluster of {}", blocks, all.size()));
  }
  for (uint32_t rank = 0; rank < all.size(); ++rank) {
    if ((blocks >> rank & 1) != 0) load_into(call, *all[rank], to, *map, barrier, c0, c1);
  }
}

}  // namespace coda::sim
