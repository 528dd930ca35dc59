// Memory as Linux tells of it, in files written for the test.
#include "coda/block/available_memory.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"

namespace coda::block {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  int64_t available() const { return available_memory(folder_.path()); }
  void container(const std::string& max, const std::string& current, const std::string& stat) {
    folder_.write("sys/fs/cgroup/memory.max", max);
    folder_.write("sys/fs/cgroup/memory.current", current);
    folder_.write("sys/fs/cgroup/memory.stat", stat);
  }
  TemporaryFolder folder_;
};

TEST_F(AvailableMemory, CountsCachesThatGiveWay) {
  folder_.write(
      "proc/meminfo",
      "MemTotal:  8000000 kB\nMemFree:  100 kB\nMemAvailable:  3000 kB\nBuffers:  7 kB\n");
  EXPECT_EQ(available(), 3000 * 1024);
}

TEST_F(AvailableMemory, IsWhatTheContainerMayTake) {
  folder_.write("proc/meminfo", "MemAvailable:  3000 kB\n");
  container("max\n", "1000\n", "");
  EXPECT_EQ(available(), 3000 * 1024);
  container("500000\n", "400000\n", "anon 100000\nactive_file 1\ninactive_file 300000\n");
  EXPECT_EQ(available(), 400000);
  container("500000\n", "600000\n", "inactive_file 10\n");
  EXPECT_EQ(available(), 0);
  container("99999999999\n", "0\n", "");
  EXPECT_EQ(available(), 3000 * 1024);
}

TEST_F(AvailableMemory, IsKnownWithoutTheFiles) {
  EXPECT_GT(available(), 0);
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace coda::block
