// Compiled kernels and epilogues on disk, by the hash of all that they were made of: in
// $CODA_CACHE, else in $XDG_CACHE_HOME/coda or ~/.cache/coda. Entries appear as a whole or not at
// all, so that processes may share the folder; one that is damaged is none.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace coda::author {

class KernelCache {
 public:
  // suffix: of its entries' names.
  explicit KernelCache(std::filesystem::path folder, std::string suffix = ".cubin")
      : folder_(std::move(folder)), suffix_(std::move(suffix)) {}
  static KernelCache standard(const std::string& suffix = ".cubin");

  // Nothing where there is no such entry, or not as it was written.
  std::optional<std::string> find(const std::string& key) const;
  // Where the folder cannot be written nothing is kept: the caller has what it asked for.
  void keep(const std::string& key, const std::string& bytes) const;

  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + suffix_); }

 private:
  std::filesystem::path folder_;  // empty: nothing is kept
  std::string suffix_;
};

}  // namespace coda::author
