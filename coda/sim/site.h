// Call sites: every instruction of the simulated kernel knows its place in the source. A mutation
// drops or weakens one of them while the kernel runs.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coda/sim/failure.h"

namespace coda::sim {

enum class SiteKind : uint8_t { kWait, kArrive, kExpect, kFence, kCommit, kBarrier, kOther };
const char* site_kind_name(SiteKind kind);

struct Site {
  std::string file;  // from the repository's root
  unsigned line = 0, column = 0;
  SiteKind kind = SiteKind::kOther;
  std::string instruction;
  std::string function;  // that it stands in, without scope

  bool operator==(const Site&) const = default;
};
std::string describe(const Site& site);

enum class MutationKind : uint8_t {
  kDrop,        // the instruction is not executed
  kWeaken,      // a wait for groups lets one more group pass
  kHalveBytes,  // an expectation counts half of the bytes
  kOmitBytes,   // an expectation counts none
};
const char* mutation_kind_name(MutationKind kind);

struct Mutation {
  Site site;
  MutationKind kind = MutationKind::kDrop;
  int launch = -1;  // only this one of a stream; -1: all
};
// What can be done to a site; nothing for loads, stores and multiplications.
std::vector<MutationKind> mutations_of(const Site& site);

struct SiteVisits {
  Site site;
  uint64_t visits = 0;
};

// The sites of one launch, numbered as they are reached.
class SiteTable {
 public:
  explicit SiteTable(std::optional<Mutation> mutation);

  uint16_t visit(const Location& where, SiteKind kind, const char* instruction);
  bool mutated(uint16_t site, MutationKind kind, int launch) const {
    return entries_[site].mutated && mutation_->kind == kind &&
           (mutation_->launch < 0 || mutation_->launch == launch);
  }
  const char* instruction(uint16_t site) const { return entries_[site].instruction; }
  Location place(uint16_t site) const { return entries_[site].where; }
  std::string describe_place(uint16_t site) const;
  std::vector<SiteVisits> visits() const;

 private:
  struct Entry {
    Location where;
    const char* instruction = nullptr;
    SiteKind kind = SiteKind::kOther;
    uint64_t visits = 0;
    bool mutated = false;
  };
  static constexpr uint16_t kNone = 0xffff;
  static constexpr size_t kSlots = 4096;

  static Site site_of(const Entry& entry);

  std::vector<Entry> entries_;
  std::array<uint16_t, kSlots> slots_;  // open addressing by place
  std::optional<Mutation> mutation_;
};

}  // namespace coda::sim
