#include "coda/terminal/text_width.h"

#include <algorithm>

namespace coda::terminal {
namespace {

// Continuation bytes of UTF-8 take no room.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

size_t text_width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut_to_width(const std::string& text, size_t width) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && characters++ == width) return text.substr(0, i);
  }
  return text;
}

}  // namespace coda::terminal
