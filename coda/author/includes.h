// Everything that a source includes, as far as it is found in certain folders: part of what a
// compiled program was made of.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace coda::author {

class Includes {
 public:
  explicit Includes(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  // beside: the folder that the text stands in.
  void add(const std::string& text, const std::filesystem::path& beside);
  const std::string& contents() const { return contents_; }

 private:
  void find(const std::string& name, const std::filesystem::path& beside);

  std::vector<std::filesystem::path> folders_;
  std::set<std::filesystem::path> seen_;
  std::string contents_;
};

}  // namespace coda::author
