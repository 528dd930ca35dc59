// Words of commands that are printed to be typed again.
#pragma once
#include <string>

namespace coda::terminal {

// As a shell reads it back: in quotes where it has blanks or other characters of its own.
std::string shell_word(const std::string& text);

}  // namespace coda::terminal
