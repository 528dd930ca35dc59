#include "coda/sim/clock.h"

#include <algorithm>

namespace coda::sim {

namespace {

void join(std::vector<uint32_t>& into, const std::vector<uint32_t>& other) {
  if (into.size() < other.size()) into.resize(other.size());
  uint32_t* to = into.data();
  const uint32_t* from = other.data();
  for (size_t i = 0; i < other.size(); ++i) to[i] = std::max(to[i], from[i]);
}

size_t slot_of(const void* a, const void* b) {
  const uint64_t key = (reinterpret_cast<uintptr_t>(a) >> 4) * 0x9e3779b97f4a7c15u ^
                       (reinterpret_cast<uintptr_t>(b) >> 4) * 0xc2b2ae3d27d4eb4fu;
  return key >> 58;
}

}  // namespace

void View::add(const ThreadClock& clock) {
  for (int i = 0; i < count_; ++i) {
    if (*snapshots_[i] == clock.seen) return;
  }
  snapshots_[count_++] = &clock.seen;
}

uint32_t View::time_of(uint32_t agent) const {
  if (single_ != nullptr) return single_->time_of(agent);
  uint32_t least = UINT32_MAX;
  for (int i = 0; i < count_; ++i) least = std::min(least, time_in(*snapshots_[i], agent));
  return least;
}

void Accumulator::merge(const Snapshot& snapshot) {
  if (!snapshot || snapshot == merged_) return;
  join(times_, *snapshot);
  merged_ = snapshot;
  published_.reset();
}

void Accumulator::set(uint32_t agent, uint32_t time) {
  if (times_.size() <= agent) times_.resize(agent + 1);
  times_[agent] = std::max(times_[agent], time);
  published_.reset();
}

void Accumulator::release(ThreadClock& clock) {
  merge(clock.seen);
  set(clock.agent, clock.own++);
}

const Snapshot& Accumulator::publish() {
  if (!published_) published_ = std::make_shared<const std::vector<uint32_t>>(times_);
  return published_;
}

void Accumulator::clear() {
  times_.clear();
  merged_.reset();
  published_.reset();
}

void ClockMemo::acquire(ThreadClock& clock, const Snapshot& released) {
  if (!released || clock.seen == released) return;
  if (!clock.seen) {
    clock.seen = released;
    return;
  }
  Entry& entry = entries_[slot_of(clock.seen.get(), released.get())];
  if (entry.a != clock.seen || entry.b != released) {
    std::vector<uint32_t> times = *clock.seen;
    join(times, *released);
    entry = {clock.seen, released, 0, 0,
             std::make_shared<const std::vector<uint32_t>>(std::move(times))};
  }
  clock.seen = entry.result;
}

void ClockMemo::raise(ThreadClock& clock, uint32_t agent, uint32_t time) {
  if (clock.time_of(agent) >= time) return;
  Entry& entry = entries_[slot_of(clock.seen.get(), &entries_)];
  if (!entry.result || entry.b || entry.a != clock.seen || entry.agent != agent ||
      entry.time != time) {
    std::vector<uint32_t> times;
    if (clock.seen) times = *clock.seen;
    if (times.size() <= agent) times.resize(agent + 1);
    times[agent] = time;
    entry = {clock.seen, nullptr, agent, time,
             std::make_shared<const std::vector<uint32_t>>(std::move(times))};
  }
  clock.seen = entry.result;
}

}  // namespace coda::sim
