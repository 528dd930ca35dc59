#include "coda/tools/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "coda/core/error.h"
#include "coda/tools/number_options.h"
#include "coda/tools/suggest.h"
#include "coda/version.h"

namespace coda::tools {
namespace {

std::string remedy(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : fmt::format("did you mean '{}'? ", near);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 would only say that a command is required.
void check_first(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known = option_names(app);
  if (!name.starts_with("-")) {
    known.clear();
    for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  }
  if (std::ranges::count(known, name) > 0 || name == "-h") return;
  throw Error(fmt::format("no {} '{}'; {}there are {}",
                          name.starts_with("-") ? "option" : "command", name, remedy(name, known),
                          fmt::join(known, ", ")));
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  std::string text = error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    for (const std::string& extra : command.remaining()) {
      if (extra.starts_with("-")) {
        return fmt::format("no option '{}'; {}see coda {} --help", extra,
                           remedy(extra, option_names(command)), command.get_name());
      }
    }
  }
  const bool whole = &command == &app;
  return fmt::format("{}; see coda {}--help", text, whole ? "" : command.get_name() + " ");
}

// Whoever asked for a file does not take half of it for the whole.
void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(fmt::format("cannot write the output: {}", std::strerror(errno)));
}

int run(int argc, const char* const* argv) {
  CLI::App app("GEMM-plus-epilogue programs for Transformers", "coda");
  app.set_version_flag("--version", fmt::format("coda {} ({})", kVersion, kCommit));
  app.require_subcommand(1);
  int status = kSuccess;
  add_list(app, status);
  add_info(app, status);
  add_scaffold(app, status);
  add_explain(app, status);
  add_derive(app, status);
  add_check(app, status);
  add_bench(app, status);
  add_tune(app, status);
  add_train(app, status);
  add_eval(app, status);
  add_bench_train(app, status);
  for (CLI::App* command : app.get_subcommands({})) check_numbers(*command);
  if (argc < 2) {
    fmt::print("{}", app.help());
    return kBadUse;
  }
  check_first(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw Error(describe(app, error));
  }
  return status;
}

}  // namespace

std::vector<std::string> backends() {
  std::vector<std::string> names{"cpu"};
#if defined(CODA_HAS_SIMULATOR)
  names.emplace_back("sim");
#endif
#if defined(CODA_HAS_CUDA)
  names.emplace_back("cuda");
#endif
  return names;
}

void require_backend(const std::string& name) {
  const std::vector<std::string> known = backends();
  if (std::ranges::count(known, name) > 0) return;
  throw Error(
      fmt::format("this build has no backend '{}'; it has: {}", name, fmt::join(known, ", ")));
}

int run_command_line(int argc, const char* const* argv) {
  try {
    const int status = run(argc, argv);
    flush_output();
    return status;
  } catch (const std::bad_alloc&) {
    std::fputs("coda: out of memory\n", stderr);
  } catch (const std::exception& error) {
    // fmt::print would throw where stderr cannot be written.
    std::fputs(fmt::format("coda: {}\n", error.what()).c_str(), stderr);
  } catch (...) {  // of an author's own
    std::fputs("coda: an exception that is no std::exception, thrown by a program or formula\n",
               stderr);
  }
  return kBadUse;
}

}  // namespace coda::tools
