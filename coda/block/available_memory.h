#pragma once
#include <cstdint>
#include <string>

namespace coda::block {

// Bytes that this process may still take: what is free or held by caches that give way, of the
// machine and of the container it runs in (cgroups of both versions). root: where /proc and /sys
// are.
int64_t available_memory(const std::string& root = "");

}  // namespace coda::block
