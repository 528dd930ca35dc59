// The room that text takes on a terminal: characters, not bytes.
#pragma once
#include <cstddef>
#include <string>

namespace coda::terminal {

size_t text_width(const std::string& text);
std::string cut_to_width(const std::string& text, size_t width);  // its first characters

}  // namespace coda::terminal
