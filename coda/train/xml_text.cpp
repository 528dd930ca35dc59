#include "coda/train/xml_text.h"

#include <cstddef>
#include <cstdint>

namespace coda::train {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The bytes of the character that `text` begins with; 0 where it begins with none that XML allows.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' ? 1 : 0;
  const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < count) return 0;
  uint32_t code = first & (0x7Fu >> count);
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (count == 3 && code < 0x800) || (count == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate || code > 0x10FFFF || code == 0xFFFE || code == 0xFFFF) return 0;
  return count;
}

}  // namespace

std::string xml_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t count = character_bytes(bytes);
    switch (count == 0 ? '\0' : bytes[0]) {
      case '\0': text += kReplacement; break;
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      case '\'': text += "&#39;"; break;
      default: text += bytes.substr(0, count);
    }
    bytes.remove_prefix(count == 0 ? 1 : count);
  }
  return text;
}

}  // namespace coda::train
