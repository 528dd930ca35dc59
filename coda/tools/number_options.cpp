#include "coda/tools/number_options.h"

#include <fmt/format.h>

#include <charconv>

namespace coda::tools {
namespace {

// CLI11 takes "" for 0, 010 for 8, -1 for the largest unsigned number, and what is too large for
// the largest there is. Gives what is wrong, or writes the number as CLI11 reads it.
template <class Number>
std::string read_whole(std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && parsed == end) {
    text = fmt::format("{}", number);
    return "";
  }
  constexpr const char* kKind = std::is_signed_v<Number> ? "a whole number" : "a number from 0 on";
  return fmt::format("expected {}{}, got '{}'", kKind,
                     error == std::errc::result_out_of_range ? " of 64 bits" : "", text);
}

std::string read_fraction(const std::string& text) {
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && parsed == end) return "";
  return fmt::format("expected a number, got '{}'", text);
}

}  // namespace

void check_numbers(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    std::function<std::string(std::string&)> read;
    if (type == "INT") read = read_whole<int64_t>;
    if (type == "UINT" || type == "N") read = read_whole<uint64_t>;
    if (type == "FLOAT") read = read_fraction;
    if (read) option->transform(CLI::Validator(read, ""));  // before the checks of its own
  }
}

}  // namespace coda::tools
