#include "coda/cpu/workspace.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace coda::cpu {
namespace {

// Of huge pages, where the system has any: panels that fill most of a second-level cache fit into
// it if they lie in one piece of physical memory, and collide there if small pages scatter them.
constexpr size_t kPage = size_t{2} << 20;

struct Free {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t{kPage}); }
};

void* allocate(size_t bytes) {
  void* const memory = ::operator new(bytes, std::align_val_t{kPage});
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: small pages serve as well
#endif
  return memory;
}

}  // namespace

TeamWorkspace team_workspace(int threads, size_t bytes) {
  thread_local std::unique_ptr<std::byte, Free> memory;
  thread_local int held_threads = 0;
  thread_local size_t held = 0;  // for each
  if (held < bytes || held_threads < threads) {
    const int all = std::max(held_threads, threads);
    const size_t pages = (std::max(held, bytes) + kPage - 1) / kPage * kPage;
    memory.reset();
    held_threads = 0;
    held = 0;
    memory.reset(static_cast<std::byte*>(allocate(static_cast<size_t>(all) * pages)));
    held_threads = all;
    held = pages;
  }
  return {memory.get(), held};
}

}  // namespace coda::cpu
