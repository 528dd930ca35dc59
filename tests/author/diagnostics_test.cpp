// Which remedy is shown for what gcc and clang say about a mistake.
#include "coda/author/diagnostics.h"

#include <gtest/gtest.h>

namespace coda::author {
namespace {

const std::filesystem::path kFile = "/own/bad.h";

std::string shown(const std::string& error) {
  return author_messages("/own/bad.h:11:5: error: " + error + "\n", {&kFile, 1});
}

TEST(Diagnostics, EveryMistakeHasItsRemedy) {
  const struct {
    const char *error, *remedy;
  } cases[] = {
      {"'normals' is not a member of 'coda::catalogue::Values'", "Values::normal(mean"},
      {"no member named 'normals' in 'coda::catalogue::Values'", "Values::normal(mean"},
      {"'cosine' is not a member of 'coda'", "functions on values"},
      {"no member named 'cosine' in namespace 'coda'", "functions on values"},
      {"no match for 'operator==' (operand types are 'const coda::Choice<Way, Way::kTwice>' and "
       "'Way')",
       "tile.choice(port)"},
      {"invalid operands to binary expression ('const coda::Choice<Way, Way::kTwice>' and 'Way')",
       "tile.choice(port)"},
      {"no match for 'operator+' (operand types are 'coda::Fragment<L, float>' and 'const "
       "coda::PerColumn<const float>')",
       "a port is no value and no array"},
      {"invalid operands to binary expression ('coda::Fragment<L, float>' and 'const "
       "coda::Optional<coda::PerRow<const float>>')",
       "a port is no value and no array"},
      {"'const struct coda::PerColumn<const float>' has no member named 'data'",
       "a port is no value and no array"},
      {"no member named 'data' in 'coda::PerColumn<const float>'",
       "a port is no value and no array"},
      {"'class coda::cpu::RowTile<Bad>' has no member named 'lod'", "a tile offers accumulator"},
      {"no member named 'lod' in 'coda::cpu::RowTile<Bad>'", "a tile offers accumulator"},
      {"no match for 'operator%' (operand types are 'coda::Fragment<L, int>' and 'int')",
       "a remainder is x - n"},
      {"invalid operands to binary expression ('coda::Fragment<L, int>' and 'int')",
       "a remainder is x - n"},
      {"no match for 'operator==' (operand types are 'coda::Fragment<L, bool>' and 'Way')", ""},
      {"no match for 'operator=' (operand types are 'const coda::Fragment<L, float>' and 'int')",
       "const auto z = a + b"},
      {"no match for 'operator+=' (operand types are 'coda::Fragment<L, float>' and 'int')",
       "const auto z = a + b"},
      {"cannot convert 'coda::Fragment<L, float>' to 'float'", "coda's functions take values"},
      {"static assertion failed: coda: a Choice is no value", ""},
  };
  for (const auto& [error, remedy] : cases) {
    const std::string text = shown(error);
    EXPECT_TRUE(text.find("bad.h:11:5: ") != std::string::npos) << text;
    const size_t at = text.find("remedy: ");
    EXPECT_EQ(at != std::string::npos, *remedy != 0) << text;
    EXPECT_NE(text.find(remedy), std::string::npos) << "expected: " << remedy << "\n" << text;
  }
}

TEST(Diagnostics, TypesMayBeLong) {
  const std::string text = shown("no match for 'operator%' " + std::string(1000000, 'x'));
  EXPECT_NE(text.find("a remainder is x - n"), std::string::npos);
}

}  // namespace
}  // namespace coda::author
