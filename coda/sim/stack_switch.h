// Tells AddressSanitizer which stack runs, so that simulated kernels can be checked for accesses
// out of bounds; nothing in other builds.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CODA_ASAN_STACKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CODA_ASAN_STACKS
#endif
#endif

#if defined(CODA_ASAN_STACKS)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace coda::sim {

struct StackBounds {
  const void* bottom = nullptr;
  size_t bytes = 0;
};

// A switch away from the running stack: it lasts until the stack runs again, however it does.
class SwitchAway {
 public:
  SwitchAway([[maybe_unused]] const StackBounds& to, [[maybe_unused]] StackBounds* from)
      : from_(from) {
#if defined(CODA_ASAN_STACKS)
    __sanitizer_start_switch_fiber(&fake_, to.bottom, to.bytes);
#endif
  }
  ~SwitchAway() {
#if defined(CODA_ASAN_STACKS)
    if (from_ != nullptr) {
      __sanitizer_finish_switch_fiber(fake_, &from_->bottom, &from_->bytes);
    } else {
      __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
    }
#endif
  }
  SwitchAway(const SwitchAway&) = delete;
  SwitchAway& operator=(const SwitchAway&) = delete;

 private:
  [[maybe_unused]] void* fake_ = nullptr;
  [[maybe_unused]] StackBounds* from_;
};

// The first time on a stack; `from` takes the bounds of the one before.
inline void first_switch([[maybe_unused]] StackBounds& from) {
#if defined(CODA_ASAN_STACKS)
  __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
#endif
}
inline void last_switch([[maybe_unused]] const StackBounds& to) {
#if defined(CODA_ASAN_STACKS)
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
#endif
}
// Before a stack is used again: what its last user left poisoned.
inline void clean_stack([[maybe_unused]] const StackBounds& stack) {
#if defined(CODA_ASAN_STACKS)
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
#endif
}

}  // namespace coda::sim
