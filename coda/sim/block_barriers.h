// What a thread's exit does to the barriers that count it.
#pragma once
#include "coda/sim/scheduler.h"

namespace coda::sim {

void settle_barriers_after_exit(Machine& machine, Block& block);

}  // namespace coda::sim
