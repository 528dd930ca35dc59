// Which files of a list of paths are text, and what is in them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace coda::train {

// The files of `paths`, none twice, in the order of the paths; those of a folder sorted by path.
// Inside a folder these are left out: hidden files and folders, build folders, folders of runs
// (metrics.jsonl), links to folders, and what is no file. Throws Error where a path is missing or
// no file or folder, or a folder cannot be read.
std::vector<std::filesystem::path> find_files(const std::vector<std::filesystem::path>& paths);

// All of a file. Throws Error where it cannot be read.
std::string read_file(const std::filesystem::path& path);

// A file with a zero byte is taken for a binary one.
bool is_text(const std::string& bytes);

}  // namespace coda::train
