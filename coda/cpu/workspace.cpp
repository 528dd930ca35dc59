#include "coda/cpu/workspace.h"

#include <sys/mman.h>

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

void* thread_workspace(size_t bytes) {
  thread_local std::unique_ptr<void, Free> memory;
  thread_local size_t held = 0;
  if (held < bytes) {
    memory.reset();
    held = 0;
    const size_t pages = (bytes + kPage - 1) / kPage * kPage;
    memory.reset(allocate(pages));
    held = pages;
  }
  return memory.get();
}

}  // namespace coda::cpu
