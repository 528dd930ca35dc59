// Any bytes as text within XML.
#pragma once
#include <string>
#include <string_view>

namespace coda::train {

// Markup is escaped; what is not UTF-8 or no character of XML becomes U+FFFD.
std::string xml_text(std::string_view bytes);

}  // namespace coda::train
