// Memory for packed panels and accumulator tiles: a buffer for each thread of a parallel region,
// kept between runs by the thread that begins it, as large as a tile needs and no larger.
#pragma once
#include <cstddef>
#include <cstdint>

namespace coda::cpu {

struct TeamWorkspace {
  std::byte* data;
  size_t stride;

  void* of(int thread) const { return data + static_cast<size_t>(thread) * stride; }
};

// At least `bytes` bytes for each thread, aligned to a cache line, valid until this thread asks
// again. To be asked for before the region: in one, running out of memory would end the process.
TeamWorkspace team_workspace(int threads, size_t bytes);

}  // namespace coda::cpu
