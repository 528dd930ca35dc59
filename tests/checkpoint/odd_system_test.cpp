// Systems that do less than asked: writes that are short or interrupted, file systems that cannot
// exchange two names. Functions of the C library are replaced by others in this program.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "coda/checkpoint/atomic.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace {
size_t longest_write = SIZE_MAX;
int writes = 0;
bool can_exchange = true;
}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  if (longest_write != SIZE_MAX && ++writes % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return syscall(SYS_write, file, data, std::min(bytes, longest_write));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (!can_exchange) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

}  // extern "C"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

class OddSystem : public InFolder {
 protected:
  ~OddSystem() override {
    longest_write = SIZE_MAX;
    can_exchange = true;
  }
  void write_folder(const std::string& text) const {
    write_folder_atomically(folder_ / "m", [&](const std::string& folder) {
      FileOutput output(folder + "/" + text);
      output.write(text);
      output.finish();
    });
  }
  void expect_only(const std::string& text) const {
    EXPECT_EQ(read_all(folder_ / ("m/" + text)), text);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "m"), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  }
};

TEST_F(OddSystem, ShortAndInterruptedWritesGoOn) {
  longest_write = 7;
  const std::string text = "a text that takes more than one write of seven bytes";
  write_file_atomically(folder_ / "x", text);
  EXPECT_EQ(read_all(folder_ / "x"), text);
  EXPECT_GT(writes, 8);
}

TEST_F(OddSystem, AWriteOfNothingIsAFullDisk) {
  longest_write = 0;
  expect_error([&] { write_file_atomically(folder_ / "x", "a"); }, {"No space left on device"});
}

TEST_F(OddSystem, FoldersAreReplacedWithoutExchange) {
  can_exchange = false;
  write_folder("one");
  write_folder("two");
  expect_only("two");
}

TEST_F(OddSystem, FoldersAreReplacedWithExchange) {
  write_folder("one");
  write_folder("two");
  expect_only("two");
}

}  // namespace
}  // namespace coda::checkpoint
