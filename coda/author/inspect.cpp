#include "coda/author/inspect.h"

#include <fmt/format.h>

#include <filesystem>

namespace coda::author {
namespace {

std::string text_of(const std::source_location& where) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::relative(where.file_name(), error);
  const bool inside = !error && !relative.string().starts_with("..");
  return fmt::format("{}:{}", inside ? relative.string() : where.file_name(), where.line());
}

}  // namespace

void check_run(const char* program, std::vector<PortNotes>& ports) {
  for (PortNotes& port : ports) {
    if (!is_input(port.kind) && port.calls.size() > 1) {
      throw Error(
          fmt::format("{}: output '{}' is written twice, at {} and at {}: write it once; "
                      "coda::select(condition, a, b) picks one of two values",
                      program, port.name, text_of(port.calls[0]), text_of(port.calls[1])));
    }
    port.used = port.used || !port.calls.empty();
    port.calls.clear();
  }
}

void check_uses(const char* program, const std::vector<PortNotes>& ports) {
  for (const PortNotes& port : ports) {
    // A scalar's number may be taken as it is: port.get().
    if (port.used || port.kind == PortKind::kScalar) continue;
    const bool input = is_input(port.kind);
    throw Error(
        fmt::format("{}: {} '{}' is never {}: {} it in operator(), or take it out of the "
                    "struct and of port_names",
                    program, input ? "input" : "output", port.name, input ? "read" : "written",
                    input ? "load" : "write"));
  }
}

void fail_foreign_port(const char* program, const std::source_location& where) {
  throw Error(
      fmt::format("{}: {}: this port is no member of the program: ports are members of the "
                  "struct, used by their names",
                  program, text_of(where)));
}

}  // namespace coda::author
