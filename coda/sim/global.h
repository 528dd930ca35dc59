// Accesses of several blocks to global memory of coda/ptx/global.cuh, simulated. Only what goes
// through these is followed: a load has to come after its store by fences around an atomic.
#pragma once
#include <cstring>

#include "coda/sim/barrier.h"

namespace coda::sim {

void store_global_x4(float* to, float a, float b, float c, float d,
                     Location where = Location::current());
void load_global_x4(const float* from, float (&value)[4], Location where = Location::current());
inline uint32_t load_global_if(bool wanted, uint64_t from, uint32_t otherwise) {
  uint32_t word = otherwise;
  if (wanted) std::memcpy(&word, reinterpret_cast<const void*>(from), sizeof(word));
  return word;
}
void fence_gpu(Location where = Location::current());
uint32_t atomic_add(uint32_t* to, uint32_t value, Location where = Location::current());
// These order nothing. Others may run before the load.
void add_relaxed(uint32_t* to, uint32_t value, Location where = Location::current());
void store_relaxed(uint32_t* to, uint32_t value, Location where = Location::current());
uint32_t load_relaxed(const uint32_t* from, Location where = Location::current());

}  // namespace coda::sim
