#include "coda/author/includes.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace coda::author {
namespace {

// The name in `#include "name"` or `#include <name>`, else nothing.
std::string_view included(std::string_view line) {
  const auto skip = [&] {
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  };
  const auto take = [&](std::string_view word) {
    skip();
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!take("#") || !take("include")) return {};
  skip();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(1, end - 1);
}

}  // namespace

void Includes::add(const std::string& text, const std::filesystem::path& beside) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view name = included(line);
    if (!name.empty()) find(std::string(name), beside);
  }
}

void Includes::find(const std::string& name, const std::filesystem::path& beside) {
  std::vector<std::filesystem::path> places = folders_;
  if (!beside.empty()) places.insert(places.begin(), beside);
  for (const std::filesystem::path& folder : places) {
    const std::filesystem::path path = (folder / name).lexically_normal();
    if (!std::filesystem::is_regular_file(path)) continue;
    if (!seen_.insert(path).second) return;
    std::ifstream file(path);
    std::stringstream stream;
    stream << file.rdbuf();
    const std::string text = stream.str();
    contents_ += fmt::format("{} {}\n{}", name, text.size(), text);
    return add(text, path.parent_path());
  }
}

}  // namespace coda::author
