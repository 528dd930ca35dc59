#include "coda/author/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

namespace coda::author {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestLine = 5000;

struct Place {
  fs::path file;
  int line = 0, column = 0;

  bool operator==(const Place&) const = default;
};

// A line "file:line:column: text".
struct Line {
  Place place;
  std::string text;
};

struct Message {
  Place place;
  std::string text;

  bool operator==(const Message&) const = default;
};

// NVRTC's "file(line): text", and its "... at line N of file" behind an error.
std::optional<Line> read_nvrtc_line(const std::string& text) {
  static const std::regex kError(R"(^([^\s(]+)\((\d+)\):\s*(.*)$)");
  static const std::regex kTrace(R"(^\s+.*instantiation of .* at line (\d+) of (\S+)$)");
  std::smatch match;
  if (std::regex_match(text, match, kError)) {
    return Line{{fs::path(match[1].str()).lexically_normal(), std::stoi(match[2].str()), 1},
                match[3].str()};
  }
  if (std::regex_match(text, match, kTrace)) {
    return Line{{fs::path(match[2].str()).lexically_normal(), std::stoi(match[1].str()), 1},
                "note: in instantiation"};
  }
  return std::nullopt;
}

std::optional<Line> read_line(const std::string& text) {
  static const std::regex kPattern(R"(^([^\s:][^:]*):(\d+):(\d+):\s*(.*)$)");
  // Regular expressions take a call for every character: types can be longer than the stack.
  if (text.size() > kLongestLine) return read_line(text.substr(0, kLongestLine));
  std::smatch match;
  if (!std::regex_match(text, match, kPattern)) return read_nvrtc_line(text);
  return Line{{fs::path(match[1].str()).lexically_normal(), std::stoi(match[2].str()),
               std::stoi(match[3].str())},
              match[4].str()};
}

bool is_error(const Line& line) {
  return line.text.starts_with("error: ") || line.text.starts_with("fatal error: ") ||
         line.text.starts_with("catastrophic error: ");
}

std::string reason(const Line& line) {
  std::string text = line.text.substr(line.text.find(": ") + 2);
  for (const char* prefix : {"static assertion failed: ", "static assertion failed due to "}) {
    if (text.starts_with(prefix)) text = text.substr(std::string(prefix).size());
  }
  // clang: requirement '...': coda: ...
  if (const size_t at = text.find("coda: ");
      text.starts_with("requirement") && at != std::string::npos) {
    text = text.substr(at);
  }
  return text;
}

struct Hint {
  const char* pattern;
  const char* remedy;
};

// What compilers say about mistakes that no rule of coda's own catches.
constexpr Hint kHints[] = {
    {"member.*coda::catalogue::Values",
     "of NAME_cases.h: Values::normal(mean, deviation), uniform(low, high), integer(low, high), "
     "numbers({...})"},
    {"not a member of .coda[^:]|no member named .* in namespace .coda[^:]",
     "functions on values: sqrt rsqrt exp log tanh erf abs floor min max fma select clamp sigmoid "
     "silu relu gelu gelu_tanh to_float; docs/authoring.md has them and the ports"},
    {"(no match for|invalid operands|no member named).*coda::Choice<",
     "tile.choice(port) says which way, to branch on"},
    {"(no match for|invalid operands).*coda::(Optional|Paired|Scalar|Per[A-Z]\\w+)<|"
     "coda::Per[A-Z]\\w+<.*no member named|no member named.*coda::Per[A-Z]\\w+<",
     "a port is no value and no array: tile.load(port) gives its value, for all elements at once"},
    {"(has )?no member named .(?!.*namespace)",
     "a tile offers accumulator, load, store, reduce, row, column, segment, choice, given, lookup, "
     "group_sum and head_dim"},
    {"does not name a (template )?type|no template named|no type named",
     "ports: PerRow PerColumn PerElement Scalar Choice PerRowFrom PerHead PairTable Store "
     "RowReduce "
     "ColumnReduce, and around them Optional and Paired, all in namespace coda"},
    {"no match for .operator[-+*/]?=[^=]|no viable overloaded|discards qualifiers",
     "a value over rows, over columns or over elements stays what it is: give a result a name of "
     "its own, const auto z = a + b; an output is written by tile.store(port, value)"},
    {"no match for .operator\\[\\].|subscript operator",
     "a value has no index, it stands for all elements of a tile at once; tile.row() and "
     "tile.column() say which one is meant"},
    {"no match for call to .\\(const|call to object of type .const",
     "a program has template <class Tile> CODA_HD void operator()(Tile& tile) const"},
    {"invalid .static_cast.|cannot convert .*Fragment|no matching conversion",
     "a value is no number: coda's functions take values, coda::exp(x); coda::to_float(i) makes "
     "floats of integers"},
    {"no match for .operator(%|&|\\||\\^|<<|>>)|invalid operands to binary expression",
     "values have + - * /, comparisons, and && || ! of masks; a remainder is x - n * "
     "coda::floor(x / n), with x = coda::to_float(i)"},
    {"to .bool.|contextually convertible|is not convertible to 'bool'",
     "a value differs from element to element, a program does not branch on it: "
     "coda::select(condition, a, b)"},
    {"no matching function for call to .(sin|cos|pow|exp|log|sqrt|tanh|abs|fabs|fmax|fmin|max|min)",
     "std's functions take numbers; coda's take values: coda::exp(x), coda::max(a, b)"},
    {"no matching (member )?function for call to .*\\b(load|store|reduce|lookup)\\b",
     "tile.load, tile.store and tile.reduce take a port of the program, by its name, and values"},
    {"the_program_has_no_such_accumulator",
     "tile.accumulator(1) is for a program with static constexpr int accumulators = 2;"},
    {"is not a constant expression|must be initialized by a constant",
     "tile.accumulator takes a constant: 0, or 1 where the program has two accumulators"},
};

std::string remedy_for(const std::string& text) {
  if (text.starts_with("coda: ")) return "";  // says it itself
  for (const Hint& hint : kHints) {
    if (std::regex_search(text, std::regex(hint.pattern))) return hint.remedy;
  }
  return "";
}

std::string source_line(const Place& place) {
  std::ifstream file(place.file);
  std::string text;
  for (int i = 0; i < place.line; ++i) {
    if (!std::getline(file, text)) return "";
  }
  return text;
}

// Relative to the current folder where it lies in it.
std::string shown(const fs::path& file) {
  std::error_code error;
  const fs::path relative = fs::relative(file, error);
  return error || relative.string().starts_with("..") ? file.string() : relative.string();
}

std::string to_text(const Message& message) {
  std::string text = fmt::format("{}:{}:{}: {}\n", shown(message.place.file), message.place.line,
                                 message.place.column, message.text);
  if (const std::string line = source_line(message.place); !line.empty()) {
    const auto before = static_cast<size_t>(std::max(message.place.column - 1, 0));
    text += fmt::format("    {}\n    {:{}}^\n", line, "", before);
  }
  if (const std::string remedy = remedy_for(message.text); !remedy.empty()) {
    text += fmt::format("    remedy: {}\n", remedy);
  }
  return text;
}

}  // namespace

std::string author_messages(const std::string& output, std::span<const fs::path> files) {
  std::vector<Line> lines;
  std::istringstream stream(output);
  for (std::string text; std::getline(stream, text);) {
    if (const auto line = read_line(text)) lines.push_back(*line);
  }
  const auto is_authors = [&](const Line& line) {
    return std::ranges::any_of(
        files, [&](const fs::path& file) { return file.lexically_normal() == line.place.file; });
  };
  std::vector<Message> messages;
  size_t after = 0;  // the lines behind the error before
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!is_error(lines[i])) continue;
    // gcc says before an error, clang behind it, which line led there: the nearest is the first.
    std::optional<Place> place;
    if (is_authors(lines[i])) place = lines[i].place;
    for (const char* leads : {"in ", "required "}) {  // a constant's expansion is nearer
      for (size_t k = after; k < i && !place; ++k) {
        if (lines[k].text.starts_with(leads) && is_authors(lines[k])) place = lines[k].place;
      }
    }
    size_t end = i + 1;
    while (end < lines.size() && !is_error(lines[end])) ++end;
    for (size_t k = i + 1; k < end && !place; ++k) {
      const bool leads = lines[k].text.starts_with("note: in instantiation") ||
                         lines[k].text.starts_with("note: in call");
      if (leads && is_authors(lines[k])) place = lines[k].place;
    }
    after = i + 1;
    if (!place) continue;
    // What follows at a line that has its message is a consequence of it.
    const auto same_line = [&](const Message& other) {
      return other.place.file == place->file && other.place.line == place->line;
    };
    if (std::ranges::none_of(messages, same_line)) messages.push_back({*place, reason(lines[i])});
  }
  std::string text;
  for (const Message& message : messages) text += to_text(message);
  return text.empty() ? output : text;
}

}  // namespace coda::author
