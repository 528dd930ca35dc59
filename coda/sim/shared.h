// Plain accesses to shared memory of coda/ptx/shared.cuh, simulated.
#pragma once
#include "coda/sim/barrier.h"

namespace coda::sim {

void store_shared(uint32_t address, uint32_t value, Location where = Location::current());
void store_shared_x2(uint32_t address, uint32_t a, uint32_t b,
                     Location where = Location::current());
uint32_t load_shared(uint32_t address, Location where = Location::current());
void load_shared_x2(uint32_t address, uint32_t& a, uint32_t& b,
                    Location where = Location::current());
void load_matrix_x4(uint32_t address, uint32_t (&value)[4], Location where = Location::current());
void load_matrix_x2(uint32_t address, uint32_t (&value)[2], Location where = Location::current());
void store_matrix_x4(uint32_t address, const uint32_t (&value)[4],
                     Location where = Location::current());
void store_matrix_x2(uint32_t address, const uint32_t (&value)[2],
                     Location where = Location::current());

}  // namespace coda::sim
