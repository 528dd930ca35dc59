#include "coda/train/text_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "coda/core/error.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw Error(fmt::format("data: '{}': {}", path.string(), reason));
}

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Text that programs wrote, which would drown what people wrote. That of runs too: one that writes
// into its own data could not be resumed.
bool is_made_by_programs(const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kNames{"build", "node_modules", "__pycache__"};
  constexpr std::array kFiles{"CMakeCache.txt", "CACHEDIR.TAG", "metrics.jsonl"};
  const std::string name = folder.filename().native();
  const auto has = [&](const char* file) {
    std::error_code ignored;
    return fs::exists(folder / file, ignored);
  };
  return std::ranges::count(kNames, name) > 0 || name.starts_with("build-") ||
         std::ranges::any_of(kFiles, has);
}

// Links to folders are not followed, so a walk ends whatever the links.
void collect(const fs::path& folder, const fs::path& left_out, std::vector<fs::path>& found) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::directory_entry& entry = *entries;
    std::error_code kind_error;  // as of a link that leads nowhere
    if (is_hidden(entry.path())) continue;
    if (entry.is_regular_file(kind_error)) {
      found.push_back(entry.path());
    } else if (!entry.is_symlink(kind_error) && entry.is_directory(kind_error) &&
               !is_made_by_programs(entry.path()) &&
               !fs::equivalent(entry.path(), left_out, kind_error)) {
      collect(entry.path(), left_out, found);
    }
  }
  if (error) {
    throw Error(fmt::format("cannot read folder '{}': {}", folder.string(), error.message()));
  }
}

// Hands over a file's bytes in pieces, for as long as `use` gives true.
template <class Use>
void read_pieces(const fs::path& path, Use&& use) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  const auto fail_reading = [&] {
    throw Error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  };
  if (!file) fail_reading();
  std::array<char, 1 << 16> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    if (!use(std::string_view(buffer.data(), count))) return;
  }
  if (std::ferror(file.get()) != 0) fail_reading();
}

}  // namespace

std::vector<fs::path> find_files(const std::vector<fs::path>& paths, const fs::path& left_out) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::canonical(path, error);
    if (error) fail(path, error.message());
    if (seen.insert(canonical).second) files.push_back(path);
  };
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) fail(path, "no such file or folder");
    if (!fs::status_known(status)) fail(path, error.message());
    if (fs::is_regular_file(status)) {
      add(path);
    } else if (fs::is_directory(status)) {
      std::vector<fs::path> found;
      collect(path, left_out, found);
      std::ranges::sort(found);
      std::ranges::for_each(found, add);
    } else {
      fail(path, "expected a file or a folder, got a device, a pipe or a socket");
    }
  }
  return files;
}

std::string read_file(const fs::path& path) {
  std::string bytes;
  read_pieces(path, [&](std::string_view piece) {
    bytes += piece;
    return true;
  });
  return bytes;
}

std::optional<std::string> read_text_file(const fs::path& path) {
  std::optional<std::string> text = "";
  read_pieces(path, [&](std::string_view piece) {
    if (piece.find('\0') == piece.npos) {
      *text += piece;
    } else {
      text.reset();
    }
    return text.has_value();
  });
  return text;
}

}  // namespace coda::train
