// Which files of a list of paths are text, and what is in them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace coda::train {

// The files of `paths`, none twice, in the order of the paths; those of a folder sorted by path.
// Inside a folder these are left out: hidden files and folders, build folders, folders of runs
// (metrics.jsonl), links to folders, what is no file, and the folder `left_out`, which need not be
// there. Throws Error where a path is missing or no file or folder, or a folder cannot be read.
std::vector<std::filesystem::path> find_files(const std::vector<std::filesystem::path>& paths,
                                              const std::filesystem::path& left_out = {});

// All of a file. Throws Error where it cannot be read.
std::string read_file(const std::filesystem::path& path);

// The same; none of a file with a zero byte, which is taken for a binary one and read no further.
std::optional<std::string> read_text_file(const std::filesystem::path& path);

}  // namespace coda::train
