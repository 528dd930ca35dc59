#include "coda/terminal/table.h"

#include <gtest/gtest.h>

#include "coda/terminal/text_width.h"

namespace coda::terminal {
namespace {

TEST(Table, AlignsCharacters) {
  Table table({{"name"}, {"ms", true}});
  table.add({"Σx²", "1.5"});
  table.add({"squares", "10"});
  EXPECT_EQ(table.text(1), " name      ms\n Σx²      1.5\n squares   10\n");
}

TEST(TextWidth, CountsAndCutsCharacters) {
  EXPECT_EQ(text_width(""), 0u);
  EXPECT_EQ(text_width("Σx²"), 3u);
  EXPECT_EQ(cut_to_width("Σx²", 0), "");
  EXPECT_EQ(cut_to_width("Σx²", 1), "Σ");
  EXPECT_EQ(cut_to_width("Σx²", 2), "Σx");
  EXPECT_EQ(cut_to_width("Σx²", 3), "Σx²");
  EXPECT_EQ(cut_to_width("Σx²", 9), "Σx²");
}

}  // namespace
}  // namespace coda::terminal
