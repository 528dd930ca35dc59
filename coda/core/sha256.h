// SHA-256, for names and checks of cached files. Host only.
#pragma once
#include <string>
#include <string_view>

namespace coda {

std::string sha256(std::string_view bytes);  // 64 hexadecimal digits

}  // namespace coda
