// `coda new`: a folder with a program that checks at once, to be changed into one's own.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace coda::author {

// Makes the folder `parent`/`name` and returns the files in it. Throws coda::Error for a name that
// is none, and where something of that name is there already.
std::vector<std::filesystem::path> make_program(const std::filesystem::path& parent,
                                                const std::string& name);

}  // namespace coda::author
