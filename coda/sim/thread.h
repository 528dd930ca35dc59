// Threads, warps, registers and dependent launches of coda/ptx/thread.cuh, simulated.
#pragma once
#include <cstring>

#include "coda/sim/barrier.h"

namespace coda::sim {

uint32_t thread_index();
uint32_t block_index();
uint32_t lane();
CODA_DEVICE uint32_t lane_again() { return lane(); }

uint64_t shuffle_bits(uint64_t value, uint32_t from, const char* instruction, Location where);

template <class T>
CODA_DEVICE T shuffle(T value, uint32_t from, Location where = Location::current()) {
  static_assert(sizeof(T) <= 8 && stdlib::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle_bits(bits, from, "shuffle", where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
CODA_DEVICE T shuffle_xor(T value, uint32_t mask, Location where = Location::current()) {
  static_assert(sizeof(T) <= 8 && stdlib::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle_bits(bits, lane() ^ mask, "shuffle_xor", where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

void set_registers(uint32_t registers, bool increase, Location where);
template <int kRegisters>
CODA_DEVICE void registers_decrease(Location where = Location::current()) {
  set_registers(kRegisters, false, where);
}
template <int kRegisters>
CODA_DEVICE void registers_increase(Location where = Location::current()) {
  set_registers(kRegisters, true, where);
}

void dependency_wait(Location where = Location::current());
void dependents_launch(Location where = Location::current());

[[noreturn]] void trap(Location where = Location::current());

}  // namespace coda::sim
