// Vector clocks: what a thread has seen of every agent (thread, copy, multiplication) of its
// cluster. An event (agent, time) happened before what a thread does next when the thread has seen
// that time.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace coda::sim {

// Immutable, so that the threads which left a barrier together share one.
using Snapshot = std::shared_ptr<const std::vector<uint32_t>>;

inline uint32_t time_in(const Snapshot& snapshot, uint32_t agent) {
  return snapshot && agent < snapshot->size() ? (*snapshot)[agent] : 0;
}

struct ThreadClock {
  uint32_t agent = 0;
  uint32_t own = 1;  // advances at every release and fence
  Snapshot seen;     // of the others

  uint32_t time_of(uint32_t other) const { return other == agent ? own : time_in(seen, other); }
};

// What several threads have seen, all of them.
class View {
 public:
  explicit View(const ThreadClock& clock) : single_(&clock) {}
  View() = default;
  void add(const ThreadClock& clock);
  uint32_t time_of(uint32_t agent) const;

 private:
  const ThreadClock* single_ = nullptr;
  std::array<const Snapshot*, 32> snapshots_{};  // distinct ones
  int count_ = 0;
};

// Collects what arriving threads have seen.
class Accumulator {
 public:
  void release(ThreadClock& clock);
  void set(uint32_t agent, uint32_t time);
  const Snapshot& publish();
  void clear();

 private:
  void merge(const Snapshot& snapshot);

  std::vector<uint32_t> times_;
  Snapshot merged_, published_;
};

// Joins of clocks; the last ones are kept, since the threads of a warp ask for the same one.
class ClockMemo {
 public:
  void acquire(ThreadClock& clock, const Snapshot& released);
  void raise(ThreadClock& clock, uint32_t agent, uint32_t time);

 private:
  struct Entry {
    Snapshot a, b;
    uint32_t agent = 0, time = 0;
    Snapshot result;
  };
  std::array<Entry, 64> entries_;
};

}  // namespace coda::sim
