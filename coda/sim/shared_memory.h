// The shared memory of a block with a shadow of every 32-bit word: who wrote it and who has read it
// since. Accesses that nothing orders are reported whichever way they happened to fall.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coda/sim/clock.h"

namespace coda::sim {

struct Cluster;
struct Thread;

// Addresses below are those of the system, as on the hardware.
inline constexpr uint32_t kSharedBase = 1024;
// "shared + 0x2400": counted from dynamic_shared().
std::string describe_address(uint32_t address);

class SharedMemory {
 public:
  SharedMemory(Cluster& cluster, uint32_t block, uint32_t bytes);

  uint8_t* at(uint32_t address) { return bytes_.get() + (address - kSharedBase); }
  uint32_t bytes() const { return size_; }
  bool holds(uint32_t address, uint32_t bytes) const {
    return address >= kSharedBase && uint64_t{address} + bytes <= uint64_t{kSharedBase} + size_;
  }

  // Plain accesses of a thread.
  void check_read(const Thread& thread, uint16_t site, uint32_t address, uint32_t bytes);
  void check_write(const Thread& thread, uint16_t site, uint32_t address, uint32_t bytes);

  // Accesses of the copy engine and of wgmma, issued by threads that have seen `view`: pieces of 16
  // bytes. An agent's reads are over for those that have seen its `time`.
  void check_engine_read(const Thread& issuer, const View& view, uint16_t site,
                         std::span<const uint32_t> pieces);
  void mark_engine_read(uint32_t agent, uint32_t time, uint16_t site,
                        std::span<const uint32_t> pieces);
  // From begin to end nobody may touch it; the bytes are poisoned.
  void begin_engine_write(const Thread& issuer, const View& view, uint32_t agent, uint16_t site,
                          uint32_t address, uint32_t bytes);
  void end_engine_write(uint32_t time, uint32_t address, uint32_t bytes);

  void make_barrier(const Thread& thread, uint16_t site, uint32_t address);

 private:
  enum class State : uint8_t { kUninitialised, kPlain, kEngine, kBarrier };
  struct Event {
    uint32_t time = 0;
    uint16_t agent = 0, site = 0;
  };
  struct Word {
    Event written;
    Event read[2];
    uint32_t more_reads = 0;  // 1 + index into lists_
    State state = State::kUninitialised;
  };
  static constexpr uint32_t kInFlight = UINT32_MAX;

  Word* words(const Thread& thread, uint16_t site, uint32_t address, uint32_t bytes);
  uint32_t address_of(const Word& word) const;
  void check_written(const Thread& thread, const View& view, uint16_t site, const Word& word,
                     bool reads, bool engine);
  void check_overwrite(const Thread& thread, const View& view, uint16_t site, const Word& word,
                       bool engine);
  void add_read(Word& word, const View* view, Event event);
  void forget_reads(Word& word);
  bool fenced(const View& view, const Event& write) const;
  std::string describe_write(const Word& word) const;
  std::string describe_read(const Event& event) const;

  struct Free {
    void operator()(uint8_t* bytes) const;
  };
  Cluster& cluster_;
  uint32_t block_, size_;
  std::unique_ptr<uint8_t, Free> bytes_;
  std::vector<Word> words_;
  std::vector<std::vector<Event>> lists_;
  std::vector<uint32_t> free_lists_;
};

}  // namespace coda::sim
