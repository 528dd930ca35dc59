#include "coda/sim/thread.h"

#include <fmt/format.h>

#include "coda/sim/warp.h"

namespace coda::sim {

uint32_t thread_index() { return self().index; }
uint32_t block_index() { return self().block->index; }
uint32_t lane() { return self().lane; }

// Exchanges registers only: what lanes wrote to memory stays unordered.
uint64_t shuffle_bits(uint64_t value, uint32_t from, const char* instruction, Location where) {
  Call call(where, SiteKind::kOther, instruction);
  struct Arguments {
    uint64_t value, result;
    uint32_t from;
  } arguments{value, 0, from % 32};
  together(call, false, arguments, [](Arguments*(&all)[32]) {
    for (Arguments* one : all) one->result = all[one->from]->value;
  });
  return arguments.result;
}

void set_registers(uint32_t registers, bool increase, Location where) {
  Call call(where, SiteKind::kOther, increase ? "registers_increase" : "registers_decrease");
  Warp& warp = *call.thread.warp;
  Block& block = *warp.block;
  if (registers < 24 || registers > 256 || registers % 8 != 0) {
    call.fail(Violation::kRegisters,
              fmt::format("{} is not a multiple of 8 from 24 to 256", registers));
  }
  if (warp.group == nullptr) {
    call.fail(Violation::kRegisters, "the warp is not one of four that make a warpgroup");
  }
  if (increase ? registers < warp.registers : registers > warp.registers) {
    call.fail(Violation::kRegisters,
              fmt::format("from {} to {} registers", warp.registers, registers));
  }
  const int64_t more = 32 * (int64_t{registers} - warp.registers);
  struct NoArguments {
  } none;
  if (more > 0) {
    while (warp.registers != registers && block.free_registers < more) {
      block.register_waiters.push_back(&call.thread);
      call.wait(Reason::kRegisters, 0, registers);
    }
    if (warp.registers != registers) {
      block.free_registers -= more;
      warp.registers = registers;
    }
    together(call, true, none, [](NoArguments*(&)[32]) {});
    return;
  }
  together(call, true, none, [&](NoArguments*(&)[32]) {
    block.free_registers -= more;
    warp.registers = registers;
    call.machine.wake(block.register_waiters);
  });
}

void dependency_wait(Location where) {
  Call call(where, SiteKind::kWait, "dependency_wait");
  const Grid& grid = call.thread.block->cluster.grid;
  if (call.dropped()) return;
  call.part_lane();
  if (grid.index == 0) return;
  Grid& before = call.machine.grids[grid.index - 1];
  while (!before.complete()) {
    before.dependents.push_back(&call.thread);
    call.wait(Reason::kDependency, 0, 0);
  }
}

void dependents_launch(Location where) {
  Call call(where, SiteKind::kOther, "dependents_launch");
  Block& block = *call.thread.block;
  if (block.triggered) return;
  block.triggered = true;
  ++block.cluster.grid.triggered;
}

void trap(Location where) {
  const Call call(where, SiteKind::kOther, "trap");
  call.fail(Violation::kTrap, "the kernel gave up");
}

}  // namespace coda::sim
