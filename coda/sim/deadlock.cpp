// A deadlock is reported with who waits for what, lanes of a warp that wait alike in one line.
#include <fmt/format.h>

#include <map>

#include "coda/sim/mbarrier.h"
#include "coda/sim/scheduler.h"

namespace coda::sim {

namespace {

std::string lane_ranges(uint32_t mask) {
  std::string text;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    uint32_t last = lane;
    while (last < 31 && (mask >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ",";
    text += last == lane ? fmt::format("{}", lane) : fmt::format("{}-{}", lane, last);
    lane = last;
  }
  return text;
}

std::string describe_waiting(const Warp& warp, const Waiting& waiting) {
  const Block& block = *warp.block;
  switch (waiting.reason) {
    case Reason::kWarp: return fmt::format("lanes {} have not come", lane_ranges(~warp.arrived));
    case Reason::kMbarrier: {
      const Mbarrier& barrier = block.mbarriers.at(waiting.object);
      return fmt::format(
          "mbarrier {}, parity {}: phase {} waits for {} of "
          "{} arrivals and {} bytes",
          describe_address(waiting.object), waiting.value, barrier.completed, barrier.pending,
          barrier.count, barrier.bytes);
    }
    case Reason::kNamedBarrier: {
      const NamedBarrier& barrier = block.named[waiting.object];
      return fmt::format("named barrier {}: {} of {} threads have come", waiting.object,
                         barrier.arrived, barrier.threads);
    }
    case Reason::kClusterBarrier:
      return fmt::format("cluster barrier: {} of {} threads have come", block.cluster.arrived,
                         block.cluster.live);
    case Reason::kMultiply:
      return fmt::format("wgmma: {} of {} done, the next issued by warps {:#x} of the warpgroup",
                         warp.group->done, waiting.object, next_product_warps(*warp.group));
    case Reason::kBulkRead: return fmt::format("all but {} bulk groups to be read", waiting.value);
    case Reason::kBulkWrite: return "all bulk groups to be written";
    case Reason::kRegisters:
      return fmt::format("{} registers per thread, {} of the block are free", waiting.value,
                         block.free_registers);
    case Reason::kDependency: return "the launch before to complete";
    case Reason::kNothing: break;
  }
  return "nothing";
}

}  // namespace

void Machine::report_deadlock() const {
  std::string text = "nothing can run:";
  const Thread* first = nullptr;
  uint16_t first_site = 0;
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) {
      for (const Warp& warp : block->warps) {
        std::map<Waiting, uint32_t> lanes;
        for (const Thread* lane : warp.lanes) {
          if (lane->exited) continue;
          lanes[lane->waiting] |= 1u << lane->lane;
          if (first == nullptr) {
            first = lane;
            first_site = lane->waiting.site;
          }
        }
        for (const auto& [waiting, mask] : lanes) {
          const Actor actor{cluster->grid.index, static_cast<int>(block->index),
                            static_cast<int>(warp.index), -1};
          text += fmt::format("\n  {} lanes {}: {} at {}: {}", describe(actor), lane_ranges(mask),
                              sites.instruction(waiting.site), sites.describe_place(waiting.site),
                              describe_waiting(warp, waiting));
        }
      }
    }
  }
  if (first == nullptr) throw Failure(Violation::kDeadlock, "", 0, {}, text);
  const Location place = sites.place(first_site);
  throw Failure(Violation::kDeadlock, place.file_name(), place.line(), first->actor(), text);
}

}  // namespace coda::sim
