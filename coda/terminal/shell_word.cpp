#include "coda/terminal/shell_word.h"

#include <algorithm>
#include <string_view>

namespace coda::terminal {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kOthers = "_-./+=:,@%";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";  // ends the quotes, a quote of its own, begins them again
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace coda::terminal
