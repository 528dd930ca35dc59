// Which folders of ended processes are removed, and which are left to whoever has them.
#include "coda/author/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "tests/core/temporary_folder.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public InFolder {
 protected:
  ScratchFolderTest() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  ~ScratchFolderTest() override {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }

  fs::path left_by_another(const std::string& name) const {
    const fs::path path = folder_.write(name + "/prefix.cpp", "int x;\n").parent_path();
    make_old(path);
    return path;
  }
  static void make_old(const fs::path& path) {
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::minutes(10));
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(ScratchFolderTest, GoesWithItsObject) {
  fs::path path;
  {
    const ScratchFolder scratch;
    path = scratch.path();
    EXPECT_EQ(path.parent_path(), folder_.path());
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolderTest, RemovesWhatEndedProcessesLeft) {
  const fs::path left = left_by_another("coda-author-ended1");
  const ScratchFolder scratch;
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(ScratchFolderTest, LeavesWhatIsInUseOrNotItsOwn) {
  const ScratchFolder used;
  make_old(used.path());
  const fs::path other = left_by_another("another-author-x"), kept = left_by_another("kept");
  const fs::path link = folder_.path() / "coda-author-linked";
  fs::create_directory_symlink(kept, link);
  const fs::path young = folder_.path() / "coda-author-young1";  // may be about to be locked
  fs::create_directory(young);
  const ScratchFolder scratch;
  for (const fs::path& path : {used.path(), other, kept / "prefix.cpp", link, young}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

}  // namespace
}  // namespace coda::author
