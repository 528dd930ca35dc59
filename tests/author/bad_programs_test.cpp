// Programs that must not compile: what an author is shown first, and at which line.
// Each header in bad_programs says so in its first line, "// expect LINE: TEXT".
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "coda/author/diagnostics.h"
#include "coda/author/host_sources.h"
#include "coda/author/process.h"
#include "coda/author/toolchain.h"
#include "tests/core/temporary_folder.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

TEST(BadPrograms, AreShownAtTheAuthorsLine) {
  const Toolchain toolchain = find_toolchain();
  const TemporaryFolder folder;
  std::vector<std::string> base{toolchain.compiler};
  base.insert(base.end(), toolchain.flags.begin(), toolchain.flags.end());
  base.insert(base.end(), toolchain.isas[0].begin(), toolchain.isas[0].end());
  base.emplace_back("-fdiagnostics-color=never");
  // Compiled once, so that a program takes a tenth of a second.
  const std::string prefix =
      folder.write("prefix.h", "#include \"coda/cpu/instantiate.h\"\n#include <cmath>\n");
  std::vector<std::string> precompile = base;
  for (const char* argument : {"-x", "c++-header", prefix.c_str(), "-o"}) {
    precompile.emplace_back(argument);
  }
  precompile.push_back(prefix + ".gch");
  const std::vector<std::vector<std::string>> first{precompile};
  ASSERT_EQ(run_all(first)[0].status, 0);

  std::vector<fs::path> programs;
  for (const auto& entry :
       fs::directory_iterator(fs::path(CODA_SOURCE_DIR) / "tests/author/bad_programs")) {
    programs.push_back(entry.path());
  }
  std::ranges::sort(programs);
  ASSERT_GE(programs.size(), 70u);
  std::vector<std::vector<std::string>> commands;
  for (const fs::path& program : programs) {
    std::vector<std::string> command = base;
    const ProgramFiles files{.name = "bad", .line = 5, .program = program};
    const std::string source =
        folder.write(program.stem().string() + ".cpp", epilogues_source({&files, 1}));
    for (const std::string& argument :
         {std::string("-fsyntax-only"), std::string("-include"), prefix, source}) {
      command.push_back(argument);
    }
    commands.push_back(command);
  }
  const std::vector<ProcessResult> results = run_all(commands);
  for (size_t i = 0; i < programs.size(); ++i) {
    const std::string name = programs[i].filename().string();
    std::smatch expected;
    const std::string line = first_line(programs[i]);
    ASSERT_TRUE(std::regex_match(line, expected, std::regex(R"(// expect (\d+): (.*))"))) << name;
    EXPECT_NE(results[i].status, 0) << name << " compiles";
    const std::string shown = author_messages(results[i].output, std::vector{programs[i]});
    EXPECT_NE(shown.substr(0, shown.find('\n')).find(name + ":" + expected[1].str() + ":"),
              std::string::npos)
        << shown.substr(0, 1500);
    EXPECT_EQ(shown.find("required from"), std::string::npos) << shown;
    EXPECT_NE(shown.find(expected[2].str()), std::string::npos)
        << name << ": expected " << expected[2].str() << "\n"
        << shown.substr(0, 1500);
  }
}

}  // namespace
}  // namespace coda::author
