#include "coda/sim/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "coda/sim/multiply.h"
#include "coda/sim/product.h"
#include "coda/sim/warp.h"

namespace coda::sim {

namespace {

// The warpgroup's multiplications, one after the other, in the order they were issued.
class Multiplications : public Operation {
 public:
  explicit Multiplications(Warpgroup& group) : group_(group) {
    group_.queued = true;
    ++group_.block->in_flight;
  }

  bool run(Machine& machine) override {
    const Product& product = *group_.products.front();
    multiply(group_.block->memory, product.shape, product.tile->values);
    group_.products.pop_front();
    ++group_.done;
    ++machine.report.multiplies;
    machine.wake(group_.waiters);
    if (!group_.products.empty() && group_.products.front()->warps == 0xf) return false;
    group_.queued = false;
    --group_.block->in_flight;
    return true;
  }

 private:
  Warpgroup& group_;
};

Warpgroup& warpgroup_of(const Call& call) {
  Warpgroup* group = call.thread.warp->group;
  if (group == nullptr) {
    call.fail(Violation::kMultiply, "the warp is not one of four that make a warpgroup");
  }
  return *group;
}

void check_descriptor(const Call& call, uint64_t descriptor) {
  if (descriptor >> 62 != 1) {
    call.fail(Violation::kMultiply, fmt::format("descriptor {:#x}: only the 128-byte swizzle is "
                                                "simulated",
                                                descriptor));
  }
  if ((descriptor >> 49 & 7) != 0) {
    call.fail(Violation::kMultiply, fmt::format("descriptor {:#x} has a base offset", descriptor));
  }
}

struct IssueArguments {
  float* d;
  const ProductShape* shape;
};

// The tile whose registers these are; a warp that does not hold it yet hands its registers over.
Tile& take_tile(Call& call, Warpgroup& group, IssueArguments* (&lanes)[32], uint32_t warp,
                const ProductShape& shape, Tile* of_others) {
  const uint32_t first = warp * 32;
  Tile* tile = of_others;
  for (auto& other : group.tiles) {
    const bool mine = (other->held >> warp & 1) != 0;
    if (!mine || other->registers[first] != lanes[0]->d) continue;
    if (other->columns != shape.columns || (of_others != nullptr && of_others != other.get())) {
      call.fail(Violation::kMultiply,
                "its accumulators are those of another shape still in flight");
    }
    tile = other.get();
  }
  if (tile == nullptr) {
    group.tiles.push_back(std::make_unique<Tile>());
    tile = group.tiles.back().get();
    tile->columns = shape.columns;
    tile->values.resize(size_t{64} * shape.columns);
  }
  if ((tile->held >> warp & 1) != 0) return *tile;
  if (!call.thread.warp->register_fence) {
    call.fail(Violation::kMultiply, "no wgmma_fence between the registers' last use and this");
  }
  tile->held |= 1u << warp;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    float* d = lanes[lane]->d;
    tile->registers[first + lane] = d;
    for (uint32_t i = 0; i < shape.columns / 2; ++i) {
      tile->values[tile_index(first + lane, i, shape.columns)] = d[i];
      d[i] = std::numeric_limits<float>::signaling_NaN();
    }
  }
  return *tile;
}

void issue(Call& call, IssueArguments* (&lanes)[32]) {
  Warpgroup& group = warpgroup_of(call);
  Warp& warp = *call.thread.warp;
  const ProductShape& shape = *lanes[0]->shape;
  View view;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    view.add(warp.lanes[lane]->clock);
    if (*lanes[lane]->shape != shape) {
      call.fail(Violation::kDivergence, "the lanes of the warp give different operands");
    }
  }
  check_descriptor(call, shape.a);
  check_descriptor(call, shape.b);
  std::vector<uint32_t> pieces;
  operand_pieces(shape.a, 64, shape.rows_contiguous_a, pieces);
  operand_pieces(shape.b, shape.columns, shape.rows_contiguous_b, pieces);
  SharedMemory& memory = warp.block->memory;
  memory.check_engine_read(call.thread, view, call.site, pieces);

  warp.wgmma_site = call.site;
  const uint32_t number = warp.issued++, at = number - group.done;
  if (at == group.products.size()) {
    group.products.push_back(std::make_unique<Product>(Product{shape, call.site}));
  }
  Product& product = *group.products[at];
  if (product.shape != shape || product.site != call.site) {
    call.fail(Violation::kDivergence,
              fmt::format("the other warps of the warpgroup give other operands, or are at {}",
                          call.machine.sites.describe_place(product.site)));
  }
  const uint32_t place = warp.index % 4;
  product.tile = &take_tile(call, group, lanes, place, shape, product.tile);
  product.tile->last[place] = number + 1;
  product.warps |= 1u << place;
  if (product.warps != 0xf) return;
  memory.mark_engine_read(group.agent, number + 1, call.site, pieces);
  if (!group.queued) call.machine.post(std::make_unique<Multiplications>(group));
}

// Registers of multiplications that are all over go back to the warp's threads.
void give_back(Call& call, Warpgroup& group, uint32_t end) {
  Warp& warp = *call.thread.warp;
  const uint32_t place = warp.index % 4;
  for (auto& tile : group.tiles) {
    if ((tile->held >> place & 1) == 0 || tile->last[place] > end) continue;
    tile->held &= ~(1u << place);
    for (uint32_t thread = place * 32; thread < place * 32 + 32; ++thread) {
      for (uint32_t i = 0; i < tile->columns / 2; ++i) {
        tile->registers[thread][i] = tile->values[tile_index(thread, i, tile->columns)];
      }
    }
    warp.register_fence = false;
  }
  std::erase_if(group.tiles, [](const auto& tile) { return tile->held == 0; });
}

struct NoArguments {};

}  // namespace

void wgmma_issue(float* d, const ProductShape& shape, Location where) {
  Call call(where, SiteKind::kOther, "wgmma");
  IssueArguments arguments{d, &shape};
  together(call, true, arguments, [&](IssueArguments*(&lanes)[32]) { issue(call, lanes); });
}

void wgmma_fence(Location where) {
  Call call(where, SiteKind::kFence, "wgmma_fence");
  if (call.dropped()) return;
  NoArguments none;
  together(call, true, none, [&](NoArguments*(&)[32]) { call.thread.warp->register_fence = true; });
}

void wgmma_commit(Location where) {
  Call call(where, SiteKind::kCommit, "wgmma_commit");
  if (call.dropped()) return;
  NoArguments none;
  together(call, true, none, [&](NoArguments*(&)[32]) {
    call.thread.warp->committed.push_back(call.thread.warp->issued);
  });
}

void wgmma_wait_groups(uint32_t groups, Location where) {
  Call call(where, SiteKind::kWait, "wgmma_wait");
  if (call.dropped()) return;
  if (call.mutated(MutationKind::kWeaken)) ++groups;
  Warpgroup& group = warpgroup_of(call);
  Warp& warp = *call.thread.warp;
  const size_t committed = warp.committed.size();
  const uint32_t end = committed > groups ? warp.committed[committed - groups - 1] : 0;
  while (group.done < end) {
    group.waiters.push_back(&call.thread);
    call.wait(Reason::kMultiply, end, groups);
  }
  NoArguments none;
  together(call, true, none, [&](NoArguments*(&)[32]) {
    warp.waited = std::max(warp.waited, end);
    for (Thread* lane : warp.lanes) {
      warp.block->cluster.memo.raise(lane->clock, group.agent, end);
    }
    give_back(call, group, end);
  });
}

}  // namespace coda::sim
