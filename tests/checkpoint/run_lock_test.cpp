#include "coda/checkpoint/run_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

TEST(RunLock, IsHeldOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  const std::string other = (folder.path() / "other").string();
  std::filesystem::create_directory(other);
  {
    const RunLock lock(path);
    expect_error([&] { RunLock again(path); }, {path, "no other process", "got one", "--out"});
    const RunLock elsewhere(other);
  }
  const RunLock again(path);
}

TEST(RunLock, GoesWithItsProcess) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(path);
    const bool told = write(held[1], "x", 1) == 1;
    if (told) {
      for (;;) pause();
    }
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(held[0], &byte, 1), 1);
  expect_error([&] { RunLock lock(path); }, {path});
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const RunLock lock(path);
  close(held[0]);
  close(held[1]);
}

TEST(RunLock, NeedsAFolder) {
  expect_error([] { RunLock lock("/no/such/folder"); }, {"/no/such/folder", "No such file"});
}

}  // namespace
}  // namespace coda::checkpoint
