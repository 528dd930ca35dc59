// Who wrote what to global memory, and which atomics have carried it to other clusters. Clocks are
// those of one cluster, so each atomic is an agent of every cluster that reads it: its time counts
// the additions that the cluster knows of. What a third cluster hands on is not followed.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "coda/sim/clock.h"

namespace coda::sim {

struct Thread;

class GlobalMemory {
 public:
  void write(const Thread& thread, uint16_t site, const void* address);
  // Where it was written in this launch, or null; and whether the thread may know.
  const uint16_t* written_at(const Thread& thread, const void* address) const;
  bool ordered(const Thread& thread, const void* address) const;

  void fence(Thread& thread);
  void add(Thread& thread, const uint32_t* atomic);

 private:
  // An event of a cluster: cluster_of(thread), agent, time.
  struct Write {
    uint64_t cluster = 0;
    uint32_t agent = 0, time = 0;
    uint16_t site = 0;
  };
  struct Release {
    uint64_t cluster = 0;
    Snapshot seen;  // null: no fence came before
  };

  static uint64_t cluster_of(const Thread& thread);

  std::unordered_map<const void*, Write> writes_;
  std::map<const uint32_t*, std::vector<Release>> atomics_;
};

}  // namespace coda::sim
