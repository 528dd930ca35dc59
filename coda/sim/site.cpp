#include "coda/sim/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace coda::sim {

const char* site_kind_name(SiteKind kind) {
  switch (kind) {
    case SiteKind::kWait: return "wait";
    case SiteKind::kArrive: return "arrive";
    case SiteKind::kExpect: return "expect";
    case SiteKind::kFence: return "fence";
    case SiteKind::kCommit: return "commit";
    case SiteKind::kBarrier: return "barrier";
    case SiteKind::kOther: return "other";
  }
  return "unknown";
}

const char* mutation_kind_name(MutationKind kind) {
  switch (kind) {
    case MutationKind::kDrop: return "drop";
    case MutationKind::kWeaken: return "weaken";
    case MutationKind::kHalveBytes: return "halve bytes";
    case MutationKind::kOmitBytes: return "omit bytes";
  }
  return "unknown";
}

namespace {

// "void ns::Driver<K>::ship(uint32_t) [with ...]" -> "ship"
std::string function_name(std::string name) {
  name.resize(std::min(name.find('('), name.size()));
  return name.substr(name.find_last_of(": ") + 1);
}

}  // namespace

std::string describe(const Site& site) {
  return fmt::format("{}:{}:{} {} ({})", site.file, site.line, site.column, site.instruction,
                     site_kind_name(site.kind));
}

std::vector<MutationKind> mutations_of(const Site& site) {
  switch (site.kind) {
    case SiteKind::kOther: return {};
    case SiteKind::kExpect:
      return {MutationKind::kDrop, MutationKind::kHalveBytes, MutationKind::kOmitBytes};
    case SiteKind::kWait:
      if (site.instruction == "bulk_wait_read" || site.instruction == "wgmma_wait") {
        return {MutationKind::kDrop, MutationKind::kWeaken};
      }
      return {MutationKind::kDrop};
    default: return {MutationKind::kDrop};
  }
}

SiteTable::SiteTable(std::optional<Mutation> mutation) : mutation_(std::move(mutation)) {
  slots_.fill(kNone);
}

uint16_t SiteTable::visit(const Location& where, SiteKind kind, const char* instruction) {
  const auto file = reinterpret_cast<uintptr_t>(where.file_name());
  const uint64_t key = (file ^ (uint64_t{where.line()} << 20) ^ (uint64_t{where.column()} << 44)) *
                       0x9e3779b97f4a7c15u;
  for (size_t slot = (key >> 32) % kSlots;; slot = (slot + 1) % kSlots) {
    uint16_t& index = slots_[slot];
    if (index == kNone) {
      if (entries_.size() >= kSlots / 2) throw Error("sim: more than 2048 call sites");
      index = static_cast<uint16_t>(entries_.size());
      entries_.push_back({where, instruction, kind, 1});
      entries_.back().mutated = mutation_ && mutation_->site == site_of(entries_.back());
      return index;
    }
    Entry& entry = entries_[index];
    if (entry.where.file_name() == where.file_name() && entry.where.line() == where.line() &&
        entry.where.column() == where.column() && entry.instruction == instruction) {
      ++entry.visits;
      return index;
    }
  }
}

std::string SiteTable::describe_place(uint16_t site) const {
  const Location& where = entries_[site].where;
  return fmt::format("{}:{}", short_path(where.file_name()), where.line());
}

Site SiteTable::site_of(const Entry& entry) {
  return {short_path(entry.where.file_name()),
          entry.where.line(),
          entry.where.column(),
          entry.kind,
          entry.instruction,
          function_name(entry.where.function_name())};
}

std::vector<SiteVisits> SiteTable::visits() const {
  std::vector<SiteVisits> result;
  for (const Entry& entry : entries_) {
    // A header seen by two sources has two names in memory.
    const Site site = site_of(entry);
    auto same = std::find_if(result.begin(), result.end(),
                             [&](const SiteVisits& other) { return other.site == site; });
    if (same == result.end()) {
      result.push_back({site, entry.visits});
    } else {
      same->visits += entry.visits;
    }
  }
  return result;
}

}  // namespace coda::sim
