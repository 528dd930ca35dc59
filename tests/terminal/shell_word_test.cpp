#include "coda/terminal/shell_word.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace coda::terminal {
namespace {

std::string printed_by_shell(const std::string& word) {
  std::FILE* pipe = popen(("printf '%s|' " + word).c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << word;
  return text;
}

TEST(ShellWord, IsReadBackAsOneWord) {
  for (const char* text : {"", "runs/a", "my run", "it's", "'", "''a", "a\"b", "$HOME", "`ls`",
                           "a;b", "*", "~/x", "a\\b", "a\nb", "größe", "a&b", "#x", "\xff"}) {
    EXPECT_EQ(printed_by_shell(shell_word(text)), std::string(text) + "|") << shell_word(text);
  }
}

TEST(ShellWord, LeavesPlainOnesAlone) {
  EXPECT_EQ(shell_word("runs/book-2_v1.0"), "runs/book-2_v1.0");
  EXPECT_EQ(shell_word("my run"), "'my run'");
}

}  // namespace
}  // namespace coda::terminal
