#include "coda/sim/warp.h"

#include <fmt/format.h>

#include <bit>

namespace coda::sim {

namespace {

// An aligned instruction is executed by a warp, not by its lanes: they must not have parted.
void check_together(const Call& call, const Warp& warp) {
  for (const Thread* lane : warp.lanes) {
    const Thread* first = warp.lanes[0];
    if (lane->waits == first->waits) continue;
    const Thread* alone = first->waits != 0 ? first : lane;
    call.fail(Violation::kDivergence,
              fmt::format("lane {} has waited at {} without the others, and no warp_sync has "
                          "brought them together since",
                          alone->lane, call.machine.sites.describe_place(alone->last_wait)));
  }
}

}  // namespace

bool gather_lanes(Call& call, bool aligned, void* argument) {
  Thread& thread = call.thread;
  Warp& warp = *thread.warp;
  const SiteTable& sites = call.machine.sites;
  const char* instruction = sites.instruction(call.site);
  if (warp.live != 32) {
    call.fail(Violation::kDivergence,
              fmt::format("{} lanes of the warp have left the kernel", 32 - warp.live));
  }
  if (warp.arrived == 0) {
    warp.instruction = instruction;
    warp.site = call.site;
  } else if (warp.instruction != instruction || (aligned && warp.site != call.site)) {
    call.fail(Violation::kDivergence, fmt::format("{} lanes of the warp are at {} ({}) instead",
                                                  std::popcount(warp.arrived), warp.instruction,
                                                  sites.describe_place(warp.site)));
  }
  thread.argument = argument;
  warp.arrived |= 1u << thread.lane;
  if (warp.arrived == 0xffffffffu) {
    if (aligned) check_together(call, warp);
    for (Thread* lane : warp.lanes) lane->waits = 0;
    return true;
  }
  const uint32_t round = warp.round;
  while (warp.round == round) call.wait(Reason::kWarp, 0, 0);
  return false;
}

void release_lanes(Call& call) {
  Warp& warp = *call.thread.warp;
  warp.arrived = 0;
  ++warp.round;
  for (Thread* lane : warp.lanes) {
    if (lane != &call.thread) call.machine.wake(*lane);
  }
}

}  // namespace coda::sim
