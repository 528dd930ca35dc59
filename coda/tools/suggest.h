// "did you mean ...?" for a mistyped name.
#pragma once
#include <span>
#include <string>

namespace coda::tools {

// The candidate with the fewest edits to `name`, or "" where none comes near.
std::string nearest(const std::string& name, std::span<const std::string> candidates);

}  // namespace coda::tools
