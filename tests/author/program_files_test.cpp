// Where a program lies and which struct of its file it is.
#include "coda/author/program_files.h"

#include <gtest/gtest.h>

#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"

namespace coda::author {
namespace {

class ProgramFilesTest : public InFolder {
 protected:
  ProgramFiles found(const std::string& text) const {
    return find_programs(folder_.write("scaled.h", text)).at(0);
  }
};

TEST_F(ProgramFilesTest, KnowsTheLineAndWhetherItIsATemplate) {
  const ProgramFiles plain = found("template <class T>\nstruct Other {};\nstruct Scaled {};\n");
  EXPECT_EQ(plain.line, 3);
  EXPECT_FALSE(plain.is_template);
  const ProgramFiles of_type = found(
      "// struct Scaled; it is below\n/* template <class T>\n*/\n"
      "template <class T>  // bf16; fp16 {or float}\nstruct Scaled {};\n");
  EXPECT_EQ(of_type.line, 5);
  EXPECT_TRUE(of_type.is_template);
}

TEST_F(ProgramFilesTest, CommentsDeclareNothing) {
  folder_.write("shared.h", "// struct Shared is no program: it has no port_names\nint x;\n");
  folder_.write("scaled.h", "struct Scaled { static constexpr int port_names = 0; };\n");
  const std::vector<ProgramFiles> programs = find_programs(folder_.path());
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].name, "scaled");
  folder_.write("scaled_formula.h", "// scaled_formula(in, round)\n");
  EXPECT_THROW(find_programs(folder_.path()), Error);
}

TEST_F(ProgramFilesTest, NoCommentBeginsInAString) {
  EXPECT_EQ(found("const char *glob = \"a\\\"/*\"; char c = '\"';\nstruct Scaled {};\n").line, 2);
  EXPECT_EQ(found("const char* x = \"//\"; struct Scaled {};\n").line, 1);
}

TEST_F(ProgramFilesTest, NoStructIsCalledAsTheOperandsType) {
  EXPECT_NO_THROW(check_program_name("u"));
  EXPECT_THROW(check_program_name("t"), Error);  // template <class T> struct T
}

TEST_F(ProgramFilesTest, TakesLongFiles) {
  std::string text = "template <int kCount> int table[] = {";
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + ",";
  const ProgramFiles files = found(text + "0};\n// " + std::string(500000, 'x') +
                                   "\ntemplate <class T>\nstruct Scaled {};\n");
  EXPECT_EQ(files.line, 4);
  EXPECT_TRUE(files.is_template);
}

TEST_F(ProgramFilesTest, TheCatalogueComesBeforeAFolderOfItsName) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* name : {"linear", "mine"}) std::filesystem::create_directory(name);
  EXPECT_FALSE(names_files("linear"));
  EXPECT_TRUE(names_files("linear/"));
  EXPECT_TRUE(names_files("linear.h"));
  EXPECT_TRUE(names_files("mine"));
  EXPECT_FALSE(names_files("nothing"));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace coda::author
