#include "coda/trace/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "coda/core/error.h"

namespace coda::trace {

bool is_word_of_cpp(std::string_view name) {
  static const std::set<std::string_view> words{"alignas",       "alignof",     "and",
                                                "and_eq",        "asm",         "auto",
                                                "bitand",        "bitor",       "bool",
                                                "break",         "case",        "catch",
                                                "char",          "char16_t",    "char32_t",
                                                "char8_t",       "class",       "co_await",
                                                "co_return",     "co_yield",    "compl",
                                                "concept",       "const",       "const_cast",
                                                "consteval",     "constexpr",   "constinit",
                                                "continue",      "decltype",    "default",
                                                "delete",        "do",          "double",
                                                "dynamic_cast",  "else",        "enum",
                                                "explicit",      "export",      "extern",
                                                "false",         "float",       "for",
                                                "friend",        "goto",        "if",
                                                "inline",        "int",         "long",
                                                "mutable",       "namespace",   "new",
                                                "noexcept",      "not",         "not_eq",
                                                "nullptr",       "operator",    "or",
                                                "or_eq",         "private",     "protected",
                                                "public",        "register",    "reinterpret_cast",
                                                "requires",      "return",      "short",
                                                "signed",        "sizeof",      "static",
                                                "static_assert", "static_cast", "struct",
                                                "switch",        "template",    "this",
                                                "thread_local",  "throw",       "true",
                                                "try",           "typedef",     "typeid",
                                                "typename",      "union",       "unsigned",
                                                "using",         "virtual",     "void",
                                                "volatile",      "wchar_t",     "while",
                                                "xor",           "xor_eq",      "EOF",
                                                "INFINITY",      "M_E",         "M_PI",
                                                "NAN",           "NULL",        "assert",
                                                "errno",         "BUFSIZ",      "EDOM",
                                                "EILSEQ",        "ERANGE",      "SNAN",
                                                "WEOF"};
  return words.contains(name);
}

bool is_taken(std::string_view name) {
  static const std::set<std::string_view> names{
      "abs",    "accumulators", "bf16",    "coda",     "erf",     "exp",    "floor",   "fma",
      "fp16",   "groups",       "int32_t", "int64_t",  "log",     "max",    "min",     "name",
      "names",  "port_names",   "relu",    "rotation", "rsqrt",   "select", "sigmoid", "sqrt",
      "stdlib", "tanh",         "tile",    "Tile",     "to_float"};
  return names.contains(name) || is_word_of_cpp(name);
}

void refuse_taken(std::string_view name) {
  if (!is_taken(name)) return;
  throw Error(fmt::format("'{}' is a word of C++ or of its programs: give it another name", name));
}

void refuse_reserved(std::string_view name) {
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const bool like_macro = name.find('_') != std::string_view::npos &&
                          std::ranges::any_of(name, capital) &&
                          std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  const bool kept = name.find("__") != std::string_view::npos ||
                    (name.size() > 1 && name[0] == '_' && capital(name[1]));
  if (!like_macro && !kept) return;
  throw Error(fmt::format(
      "'{}' may be a macro, or a name that C++ keeps for itself: expected lower-case letters and "
      "single underscores, give it another name",
      name));
}

void refuse_taken_gradient(std::string_view name) {
  const std::string gradient = fmt::format("d{}", name);
  if (!is_taken(gradient)) return;
  throw Error(fmt::format(
      "'{}': its gradient would be called '{}', which is a word of C++ or of its programs: give it "
      "another name",
      name, gradient));
}

}  // namespace coda::trace
