// A load whose value nobody waits for. It brings a page's translation to hand: prefetches of pages
// without one are dropped.
#pragma once

namespace coda::cpu {

[[gnu::always_inline]] inline void touch(const void* p) {
  [[maybe_unused]] const volatile char value = *static_cast<const volatile char*>(p);
}

}  // namespace coda::cpu
