// The coda command. Each command is one file, which adds itself to the parser; an error is one line
// on stderr.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace coda::tools {

struct CheckResult;

// kInterrupted: by Ctrl-C, SIGTERM or SIGHUP, with what was done saved.
enum ExitStatus : int { kSuccess = 0, kCheckFailed = 1, kBadUse = 2, kInterrupted = 130 };

int run_command_line(int argc, const char* const* argv);

// A command writes `status` where it ends with another one than kSuccess.
void add_list(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_scaffold(CLI::App& app, int& status);  // `coda new`
void add_explain(CLI::App& app, int& status);
void add_derive(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_tune(CLI::App& app, int& status);
void add_train(CLI::App& app, int& status);
void add_eval(CLI::App& app, int& status);
void add_bench_train(CLI::App& app, int& status);

// Of `coda check`: prints failures and the closing line, and gives the exit status.
int report_check(const CheckResult& result);

// Where operations can run in this build.
std::vector<std::string> backends();

// Throws where this build has no such backend.
void require_backend(const std::string& name);

}  // namespace coda::tools
