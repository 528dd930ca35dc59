// Plain accesses to shared memory, and matrices of 8 × 8 16-bit elements.
#pragma once
#include "coda/ptx/barrier.cuh"

namespace coda::ptx {

CODA_DEVICE void store_shared(uint32_t address, uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
CODA_DEVICE void store_shared_x2(uint32_t address, uint32_t a, uint32_t b) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b) : "memory");
}
CODA_DEVICE uint32_t load_shared(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
CODA_DEVICE void load_shared_x2(uint32_t address, uint32_t& a, uint32_t& b) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(address) : "memory");
}
// Lane l gives the address of row l % 8 of matrix l / 8; value i is row lane / 4, columns 2·(lane %
// 4) and the next, of matrix i.
CODA_DEVICE void load_matrix_x4(uint32_t address, uint32_t (&value)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}
// Likewise two matrices; the other lanes' addresses do not count.
CODA_DEVICE void load_matrix_x2(uint32_t address, uint32_t (&value)[2]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(value[0]), "=r"(value[1])
               : "r"(address)
               : "memory");
}
CODA_DEVICE void store_matrix_x4(uint32_t address, const uint32_t (&value)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3])
               : "memory");
}
CODA_DEVICE void store_matrix_x2(uint32_t address, const uint32_t (&value)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(value[0]), "r"(value[1])
               : "memory");
}

}  // namespace coda::ptx
