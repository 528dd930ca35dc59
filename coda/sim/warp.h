// Instructions that the 32 lanes of a warp execute together: the last lane to arrive does the work
// for all of them.
#pragma once
#include "coda/sim/scheduler.h"

namespace coda::sim {

// True for the last lane. Fails where the lanes are not at the same instruction; an aligned one
// also stands at the same place for all.
bool gather_lanes(Call& call, bool aligned, void* argument);
void release_lanes(Call& call);

// `action(Arguments* (&)[32])` runs once, with each lane's arguments, which may take results.
template <class Arguments, class Action>
void together(Call& call, bool aligned, Arguments& arguments, Action&& action) {
  if (!gather_lanes(call, aligned, &arguments)) return;
  Arguments* all[32];
  for (int lane = 0; lane < 32; ++lane) {
    all[lane] = static_cast<Arguments*>(call.thread.warp->lanes[lane]->argument);
  }
  action(all);
  release_lanes(call);
}

}  // namespace coda::sim
