#include "coda/cpu/workspace.h"

#include <memory>
#include <new>

namespace coda::cpu {
namespace {

constexpr std::align_val_t kCacheLine{64};

struct Free {
  void operator()(void* p) const { ::operator delete(p, kCacheLine); }
};

}  // namespace

void* thread_workspace(size_t bytes) {
  thread_local std::unique_ptr<void, Free> memory;
  thread_local size_t held = 0;
  if (held < bytes) {
    memory.reset();
    held = 0;
    memory.reset(::operator new(bytes, kCacheLine));
    held = bytes;
  }
  return memory.get();
}

}  // namespace coda::cpu
