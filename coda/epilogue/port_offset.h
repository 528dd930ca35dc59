// Where a port's part of a consumer's memory begins.
#pragma once
#include "coda/epilogue/hardware.h"
#include "coda/program/ports.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// kTable: a member of Staging that holds one offset per port. The port's place among the program's
// folds to a constant, and with it what follows from it.
template <class K, auto kTable, class Program, class P>
CODA_DEVICE uint32_t port_offset(const Program& program, const P& port) {
  uint32_t result = 0;
  for_each_port(program, [&](const auto& other, auto index) {
    constexpr int kOffset = (K::kStaging.*kTable)[decltype(index)::value];
    if (static_cast<const void*>(&other) == static_cast<const void*>(&port)) {
      result = static_cast<uint32_t>(kOffset);
    }
  });
  return result;
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
