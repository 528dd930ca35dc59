#include <fmt/format.h>

#include <memory>

#include "coda/author/scaffold.h"
#include "coda/tools/command_line.h"

namespace coda::tools {

void add_scaffold(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("new", "Makes a folder with a program of one's own that checks at once");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Of the program and of the folder, like scaled_relu")
      ->type_name("")
      ->required();
  command->callback([name] {
    for (const auto& file : author::make_program(".", *name)) {
      fmt::print("{}\n", file.lexically_normal().string());
    }
    fmt::print("now: coda check {}/\n", *name);
  });
}

}  // namespace coda::tools
