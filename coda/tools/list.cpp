#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "coda/catalogue/operation.h"
#include "coda/terminal/table.h"
#include "coda/tools/command_line.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::Variant;

// Variants that differ in nothing but the type of their operands, and in ports that follow it, are
// shown together.
bool alike(const Variant& a, const Variant& b) {
  return std::ranges::equal(a.program.ports, b.program.ports, [&](const auto& x, const auto& y) {
    const bool type = x.dtype == y.dtype || (x.dtype == a.operand && y.dtype == b.operand);
    return type && x.name == y.name && x.kind == y.kind && x.optional == y.optional &&
           x.segments == y.segments;
  });
}

using Group = std::vector<const Variant*>;

std::vector<Group> groups(const Operation& operation) {
  std::vector<Group> result;
  for (const Variant& variant : operation.variants) {
    const auto group = std::ranges::find_if(result, [&](const Group& other) {
      return std::ranges::all_of(other, [&](const Variant* v) { return alike(*v, variant); });
    });
    if (group != result.end()) {
      group->push_back(&variant);
    } else {
      result.push_back({&variant});
    }
  }
  return result;
}

// "T" where a port follows the operands.
std::string type_text(const Group& variants, size_t port) {
  const DType first = variants[0]->program.ports[port].dtype;
  const bool same = std::ranges::all_of(
      variants, [&](const Variant* v) { return v->program.ports[port].dtype == first; });
  return same ? dtype_name(first) : "T";
}

std::string use_text(const PortView& port) {
  std::string text = is_input(port.kind) ? "in" : port.updated ? "in and out" : "out";
  if (port.optional) text += ", optional";
  if (port.given) text += ", has a default";
  if (port.segments > 1) text += fmt::format(", {} segments", port.segments);
  return text;
}

std::string operands_text(const Variant& variant) {
  return variant.program.accumulators == 2 ? "A [M, K], B.first [N, K], B.second [N, K]"
                                           : "A [M, K], B [N, K]";
}

void print_group(const Group& variants, bool has_operands) {
  std::vector<std::string> names, types;
  for (const Variant* variant : variants) {
    names.push_back(variant->name);
    types.emplace_back(dtype_name(variant->operand));
  }
  const Variant& first = *variants[0];
  fmt::print("\n  {}\n", fmt::join(names, ", "));
  fmt::print("    {} of type {}{}\n", has_operands ? operands_text(first) : "no operands; tensors",
             types.size() > 1 ? "T = " : "", fmt::join(types, " | "));
  terminal::Table table({{"port"}, {"kind"}, {"shape"}, {"type"}, {"use"}});
  for (size_t i = 0; i < first.program.ports.size(); ++i) {
    const PortView& port = first.program.ports[i];
    table.add({port.name, has_operands ? kind_name(port.kind) : "tensor", shape_name(port),
               type_text(variants, i), use_text(port)});
  }
  fmt::print("{}", table.text(4));
  if (!first.parameters.empty()) {
    fmt::print("    numbers: {}\n", fmt::join(first.parameters, ", "));
  }
}

void print_operation(const Operation& operation) {
  fmt::print("{}: {}\n", operation.name, operation.summary);
  fmt::print("  {}\n", operation.formula);
  for (const auto& variants : groups(operation)) print_group(variants, operation.has_operands);
}

void list(const std::vector<std::string>& names) {
  bool first = true;
  const auto print = [&](const Operation& operation) {
    if (!first) fmt::print("\n");
    first = false;
    print_operation(operation);
  };
  if (names.empty()) {
    for (const Operation* operation : catalogue::operations()) print(*operation);
  }
  for (const std::string& name : names) print(catalogue::find_operation(name));
}

}  // namespace

void add_list(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("list", "Operations with their formula, variants and ports");
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("operation", *names, "Operations to show; all if left out")->type_name("");
  command->callback([names] { list(*names); });
}

}  // namespace coda::tools
