// Memory for packed panels and accumulator tiles: one buffer per thread, kept between runs, as
// large as a tile needs and no larger.
#pragma once
#include <cstddef>
#include <cstdint>

namespace coda::cpu {

// At least `bytes` bytes aligned to a cache line, valid until this thread asks again.
void* thread_workspace(size_t bytes);

}  // namespace coda::cpu
