// Stores by the copy engine: shared memory is read at one moment of the scheduler's choice, global
// memory written at a later one. Groups belong to the issuing thread.
#include <cstring>

#include "coda/sim/mbarrier.h"
#include "coda/sim/tma.h"
#include "coda/sim/tma_map.h"

namespace coda::sim {

namespace {

// Pieces of 16 bytes of a box that hold something in bounds: action(address, line, bytes).
template <class Action>
void for_each_piece(const TensorMap& map, uint32_t from, int c0, int c1, Action&& action) {
  const Range rows = inside(c1, map.box_rows, map.rows);
  const Range columns = inside(c0, map.box_columns, map.columns);
  if (rows.count == 0 || columns.count == 0) return;
  const uint32_t first = columns.first * map.element_bytes / 16 * 16;
  const uint32_t end = (columns.first + columns.count) * map.element_bytes;
  for (uint32_t row = rows.first; row < rows.first + rows.count; ++row) {
    for (uint32_t i = first; i < end; i += 16) {
      action(swizzle(from + row * map.line_bytes() + i, map.swizzle_bytes), row, i);
    }
  }
}

class Store : public Operation {
 public:
  Store(const Call& call, uint32_t from, const TensorMap& map, int c0, int c1)
      : block_(*call.thread.block),
        grid_(block_.cluster.grid),
        group_(call.thread.bulk.open),
        from_(from),
        map_(map),
        c0_(c0),
        c1_(c1) {
    ++group_->reading;
    ++group_->writing;
    ++block_.in_flight;
    ++grid_.in_flight;
  }

  bool run(Machine& machine) override {
    const bool reads = box_.empty();
    if (reads) {
      read();
    } else {
      write(machine);
    }
    if (group_->owner != nullptr && is_bulk_wait(*group_->owner)) machine.wake(*group_->owner);
    return !reads;
  }

 private:
  static bool is_bulk_wait(const Thread& thread) {
    return thread.waiting.reason == Reason::kBulkRead ||
           thread.waiting.reason == Reason::kBulkWrite;
  }

  void read() {
    box_.resize(map_.box_bytes());
    for_each_piece(map_, from_, c0_, c1_, [&](uint32_t address, uint32_t row, uint32_t i) {
      std::memcpy(&box_[row * map_.line_bytes() + i], block_.memory.at(address), 16);
    });
    --group_->reading;
    --block_.in_flight;
  }

  // The block may have exited by now; its grid is still there.
  void write(Machine& machine) {
    const Range rows = inside(c1_, map_.box_rows, map_.rows);
    const Range columns = inside(c0_, map_.box_columns, map_.columns);
    const size_t bytes = size_t{columns.count} * map_.element_bytes;
    for (uint32_t row = rows.first; row < rows.first + rows.count; ++row) {
      const auto x = static_cast<uint64_t>(int64_t{c0_} + columns.first);
      const auto y = static_cast<uint64_t>(int64_t{c1_} + row);
      std::memcpy(map_.base + y * map_.pitch_bytes + x * map_.element_bytes,
                  &box_[row * map_.line_bytes() + columns.first * map_.element_bytes], bytes);
    }
    ++machine.report.stores;
    machine.report.bytes_stored += bytes * rows.count;
    --group_->writing;
    --grid_.in_flight;
  }

  Block& block_;
  Grid& grid_;
  std::shared_ptr<BulkGroups::Group> group_;
  uint32_t from_;
  TensorMap map_;
  int c0_, c1_;
  std::vector<uint8_t> box_;
};

// Until all but the last `left` groups are over: their reads, or their writes too.
void wait_groups(Call& call, uint32_t left, bool reads) {
  call.part_lane();
  Thread& thread = call.thread;
  BulkGroups& bulk = thread.bulk;
  const auto committed = static_cast<uint32_t>(bulk.committed.size());
  const uint32_t end = committed > left ? committed - left : 0;
  for (uint32_t i = 0; i < end; ++i) {
    const BulkGroups::Group& group = *bulk.committed[i];
    while (group.reading > 0 || (!reads && group.writing > 0)) {
      call.wait(reads ? Reason::kBulkRead : Reason::kBulkWrite, 0, left);
    }
  }
  bulk.read = std::max(bulk.read, end);
  if (bulk.agent != 0) thread.block->cluster.memo.raise(thread.clock, bulk.agent, end);
}

}  // namespace

void tma_store(const TensorMap* map, uint32_t from, int c0, int c1, Location where) {
  Call call(where, SiteKind::kOther, "tma_store");
  check_map(call, map);
  check_box(call, *map, own_address(call, from));
  Thread& thread = call.thread;
  Block& block = *thread.block;
  BulkGroups& bulk = thread.bulk;
  if (bulk.agent == 0) {
    bulk.agent = block.cluster.add_agent(AgentKind::kBulk, &block, thread.index);
  }
  if (!bulk.open) bulk.open = std::make_shared<BulkGroups::Group>(BulkGroups::Group{&thread});
  bulk.last_site = call.site;
  const auto time = static_cast<uint32_t>(bulk.committed.size() + 1);
  std::vector<uint32_t> pieces;
  for_each_piece(*map, from, c0, c1,
                 [&](uint32_t address, uint32_t, uint32_t) { pieces.push_back(address); });
  block.memory.check_engine_read(thread, View(thread.clock), call.site, pieces);
  block.memory.mark_engine_read(bulk.agent, time, call.site, pieces);
  call.machine.post(std::make_unique<Store>(call, from, *map, c0, c1));
}

void bulk_commit(Location where) {
  Call call(where, SiteKind::kCommit, "bulk_commit");
  if (call.dropped()) return;
  BulkGroups& bulk = call.thread.bulk;
  if (!bulk.open) bulk.open = std::make_shared<BulkGroups::Group>(BulkGroups::Group{&call.thread});
  bulk.committed.push_back(std::move(bulk.open));
  bulk.open.reset();
}

void bulk_wait_read_groups(uint32_t groups, Location where) {
  Call call(where, SiteKind::kWait, "bulk_wait_read");
  if (call.dropped()) return;
  wait_groups(call, groups + (call.mutated(MutationKind::kWeaken) ? 1 : 0), true);
}

void bulk_wait(Location where) {
  Call call(where, SiteKind::kWait, "bulk_wait");
  if (call.dropped()) return;
  wait_groups(call, 0, false);
}

}  // namespace coda::sim
