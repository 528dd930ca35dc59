#include "coda/sim/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "coda/sim/scheduler.h"

namespace coda::sim {

namespace {

constexpr uint8_t kPoison = 0xff;  // NaN in every floating-point type

}  // namespace

std::string describe_address(uint32_t address) {
  if (address < kSharedBase) return fmt::format("{:#x}", address);
  return fmt::format("shared + {:#x}", address - kSharedBase);
}

void SharedMemory::Free::operator()(uint8_t* bytes) const { std::free(bytes); }

SharedMemory::SharedMemory(Cluster& cluster, uint32_t block, uint32_t bytes)
    : cluster_(cluster), block_(block), size_((bytes + 15) / 16 * 16), words_(size_ / 4) {
  const size_t allocated = (std::max<size_t>(size_, 1) + 1023) / 1024 * 1024;
  bytes_.reset(static_cast<uint8_t*>(std::aligned_alloc(1024, allocated)));
  if (!bytes_) throw std::bad_alloc();
  std::memset(bytes_.get(), kPoison, allocated);
}

SharedMemory::Word* SharedMemory::words(const Thread& thread, uint16_t site, uint32_t address,
                                        uint32_t bytes) {
  if (address % 4 != 0 || !holds(address, bytes)) {
    cluster_.machine.fail(Violation::kAddress, thread, site,
                          fmt::format("{} bytes at {}, where a block has {}", bytes,
                                      describe_address(address), size_));
  }
  return &words_[(address - kSharedBase) / 4];
}

uint32_t SharedMemory::address_of(const Word& word) const {
  return kSharedBase + static_cast<uint32_t>(&word - words_.data()) * 4;
}

std::string SharedMemory::describe_write(const Word& word) const {
  const Agent& agent = cluster_.agents[word.written.agent];
  const std::string place = cluster_.machine.sites.describe_place(word.written.site);
  if (agent.kind == AgentKind::kMbarrier) {
    return fmt::format("the load issued at {} (completing on mbarrier {} of block {})", place,
                       describe_address(agent.index), agent.block->index);
  }
  return fmt::format("{} at {}", describe(cluster_.thread_of(word.written.agent).actor()), place);
}

std::string SharedMemory::describe_read(const Event& event) const {
  const Agent& agent = cluster_.agents[event.agent];
  const std::string place = cluster_.machine.sites.describe_place(event.site);
  switch (agent.kind) {
    case AgentKind::kBulk:
      return fmt::format("the store of {} at {}",
                         describe(agent.block->threads[agent.index]->actor()), place);
    case AgentKind::kMultiply:
      return fmt::format("wgmma of block {} warpgroup {} at {}", agent.block->index, agent.index,
                         place);
    default:
      return fmt::format("{} at {}", describe(cluster_.thread_of(event.agent).actor()), place);
  }
}

// TMA and wgmma see a plain write when its thread has fenced after it, and the fence itself is
// ordered before them.
bool SharedMemory::fenced(const View& view, const Event& write) const {
  const std::vector<uint32_t>& fences = cluster_.thread_of(write.agent).proxy_fences;
  const auto first = std::lower_bound(fences.begin(), fences.end(), write.time);
  return first != fences.end() && view.time_of(write.agent) > *first;
}

void SharedMemory::check_written(const Thread& thread, const View& view, uint16_t site,
                                 const Word& word, bool reads, bool engine) {
  const Machine& machine = cluster_.machine;
  const char* verb = reads ? "reads" : "overwrites";
  const auto fail = [&](Violation violation, const std::string& what) {
    machine.fail(violation, thread, site,
                 fmt::format("{} {} of block {}, {}", verb, describe_address(address_of(word)),
                             block_, what));
  };
  switch (word.state) {
    case State::kUninitialised:
      if (reads) fail(Violation::kUninitialised, "which nothing has written");
      return;
    case State::kBarrier: fail(Violation::kBarrier, "which holds an mbarrier"); return;
    case State::kEngine:
      if (word.written.time == kInFlight) {
        fail(Violation::kInFlight, fmt::format("which {} is still writing", describe_write(word)));
      }
      break;
    case State::kPlain: break;
  }
  if (view.time_of(word.written.agent) < word.written.time) {
    fail(Violation::kRace, fmt::format("written by {}, without synchronisation between the two",
                                       describe_write(word)));
  }
  if (engine && word.state == State::kPlain && !fenced(view, word.written)) {
    fail(Violation::kProxy, fmt::format("written by {}, without fence_proxy_async by that thread",
                                        describe_write(word)));
  }
}

void SharedMemory::check_overwrite(const Thread& thread, const View& view, uint16_t site,
                                   const Word& word, bool engine) {
  check_written(thread, view, site, word, false, engine);
  const auto check = [&](const Event& read) {
    if (read.time == 0 || view.time_of(read.agent) >= read.time) return;
    cluster_.machine.fail(
        Violation::kRace, thread, site,
        fmt::format("overwrites {} of block {}, read by {}, without "
                    "synchronisation between the two",
                    describe_address(address_of(word)), block_, describe_read(read)));
  };
  check(word.read[0]);
  check(word.read[1]);
  if (word.more_reads != 0) {
    for (const Event& read : lists_[word.more_reads - 1]) check(read);
  }
}

void SharedMemory::forget_reads(Word& word) {
  word.read[0] = word.read[1] = {};
  if (word.more_reads == 0) return;
  lists_[word.more_reads - 1].clear();
  free_lists_.push_back(word.more_reads - 1);
  word.more_reads = 0;
}

// A read that the reader has seen needs no place of its own: who is ordered after the reader is
// ordered after it.
void SharedMemory::add_read(Word& word, const View* view, Event event) {
  for (Event& read : word.read) {
    if (read.time == 0 || read.agent == event.agent ||
        (view != nullptr && view->time_of(read.agent) >= read.time)) {
      read = event;
      return;
    }
  }
  if (word.more_reads == 0) {
    if (free_lists_.empty()) {
      free_lists_.push_back(static_cast<uint32_t>(lists_.size()));
      lists_.emplace_back();
    }
    word.more_reads = free_lists_.back() + 1;
    free_lists_.pop_back();
  }
  std::vector<Event>& list = lists_[word.more_reads - 1];
  for (Event& read : list) {
    if (read.agent == event.agent) {
      read = event;
      return;
    }
  }
  list.push_back(event);
}

void SharedMemory::check_read(const Thread& thread, uint16_t site, uint32_t address,
                              uint32_t bytes) {
  const View view(thread.clock);
  Word* word = words(thread, site, address, bytes);
  for (uint32_t i = 0; i < bytes / 4; ++i) {
    check_written(thread, view, site, word[i], true, false);
    add_read(word[i], &view, {thread.clock.own, static_cast<uint16_t>(thread.clock.agent), site});
  }
}

void SharedMemory::check_write(const Thread& thread, uint16_t site, uint32_t address,
                               uint32_t bytes) {
  const View view(thread.clock);
  Word* word = words(thread, site, address, bytes);
  for (uint32_t i = 0; i < bytes / 4; ++i) {
    check_overwrite(thread, view, site, word[i], false);
    forget_reads(word[i]);
    word[i].written = {thread.clock.own, static_cast<uint16_t>(thread.clock.agent), site};
    word[i].state = State::kPlain;
  }
}

void SharedMemory::check_engine_read(const Thread& issuer, const View& view, uint16_t site,
                                     std::span<const uint32_t> pieces) {
  const Word* good = nullptr;
  for (const uint32_t piece : pieces) {
    const Word* word = words(issuer, site, piece, 16);
    for (uint32_t i = 0; i < 4; ++i) {
      // Neighbours were usually written by the same event.
      if (good == nullptr || word[i].state != good->state ||
          word[i].written.time != good->written.time ||
          word[i].written.agent != good->written.agent) {
        check_written(issuer, view, site, word[i], true, true);
        good = &word[i];
      }
    }
  }
}

void SharedMemory::mark_engine_read(uint32_t agent, uint32_t time, uint16_t site,
                                    std::span<const uint32_t> pieces) {
  const Event event{time, static_cast<uint16_t>(agent), site};
  for (const uint32_t piece : pieces) {
    Word* word = &words_[(piece - kSharedBase) / 4];
    for (uint32_t i = 0; i < 4; ++i) add_read(word[i], nullptr, event);
  }
}

void SharedMemory::begin_engine_write(const Thread& issuer, const View& view, uint32_t agent,
                                      uint16_t site, uint32_t address, uint32_t bytes) {
  Word* word = words(issuer, site, address, bytes);
  for (uint32_t i = 0; i < bytes / 4; ++i) {
    check_overwrite(issuer, view, site, word[i], true);
    forget_reads(word[i]);
    word[i].written = {kInFlight, static_cast<uint16_t>(agent), site};
    word[i].state = State::kEngine;
  }
  std::memset(at(address), kPoison, bytes);
}

void SharedMemory::end_engine_write(uint32_t time, uint32_t address, uint32_t bytes) {
  Word* word = &words_[(address - kSharedBase) / 4];
  for (uint32_t i = 0; i < bytes / 4; ++i) word[i].written.time = time;
}

void SharedMemory::make_barrier(const Thread& thread, uint16_t site, uint32_t address) {
  check_write(thread, site, address, 8);
  Word* word = words(thread, site, address, 8);
  word[0].state = word[1].state = State::kBarrier;
}

}  // namespace coda::sim
