// Memory as Linux tells of it, in files written for the test.
#include "coda/block/available_memory.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"

namespace coda::block {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  int64_t available() const { return available_memory(folder_.path()); }
  void container(const std::string& max, const std::string& current, const std::string& stat,
                 const std::string& group = "") {
    const std::filesystem::path folder = "sys/fs/cgroup" + group;
    folder_.write(folder / "memory.max", max);
    folder_.write(folder / "memory.current", current);
    folder_.write(folder / "memory.stat", stat);
  }
  // Of version 1.
  void old_container(const std::string& limit, const std::string& usage, const std::string& stat,
                     const std::string& group = "") {
    const std::filesystem::path folder = "sys/fs/cgroup/memory" + group;
    folder_.write(folder / "memory.limit_in_bytes", limit);
    folder_.write(folder / "memory.usage_in_bytes", usage);
    folder_.write(folder / "memory.stat", stat);
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

TEST_F(AvailableMemory, IsWhatEveryGroupAroundLeaves) {
  folder_.write("proc/meminfo", "MemAvailable:  3000 kB\n");
  folder_.write("proc/self/cgroup", "0::/system.slice/run 1.scope\n");
  container("max\n", "800000\n", "", "/system.slice/run 1.scope");  // the root group has no files
  EXPECT_EQ(available(), 3000 * 1024);
  container("900000\n", "850000\n", "inactive_file 7\n", "/system.slice");
  EXPECT_EQ(available(), 50007);
  container("810000\n", "800000\n", "inactive_file 0\n", "/system.slice/run 1.scope");
  EXPECT_EQ(available(), 10000);
  container("1000\n", "0\n", "", "/system.slice/other.scope");  // that of others
  EXPECT_EQ(available(), 10000);
}

// In a container whose mount begins with its own group.
TEST_F(AvailableMemory, IsThatOfTheMountWhereTheGroupIsNotSeen) {
  folder_.write("proc/meminfo", "MemAvailable:  3000 kB\n");
  container("500000\n", "400000\n", "");
  container("200000\n", "199999\n", "", "/..");
  for (const char* group : {"0::/\n", "0::/docker/1234\n", "0::/../other\n"}) {
    folder_.write("proc/self/cgroup", group);
    EXPECT_EQ(available(), 100000) << group;
  }
}

TEST_F(AvailableMemory, KnowsTheFirstVersionOfGroupsToo) {
  folder_.write("proc/meminfo", "MemAvailable:  3000 kB\n");
  folder_.write("proc/self/cgroup",
                "11:cpuset:/\n9:cpu,memory,pids:/docker/1:2\n1:name=systemd:/docker\n0::/\n");
  old_container("9223372036854771712\n", "400000\n", "total_inactive_file 500000\n");  // no limit
  EXPECT_EQ(available(), 3000 * 1024);
  old_container("500000\n", "400000\n", "inactive_file 9\ntotal_inactive_file 20\n");
  EXPECT_EQ(available(), 100020);
  old_container("300000\n", "290000\n", "total_inactive_file 0\n", "/docker/1:2");
  EXPECT_EQ(available(), 10000);
  old_container("300000\n", "290000\n", "total_inactive_file 300000\n", "/docker/1:2");
  EXPECT_EQ(available(), 100020);  // caches beyond what is used leave no more than the limit
  folder_.write("proc/self/cgroup", "9:cpu,memory2:/docker/1:2\n");
  EXPECT_EQ(available(), 3000 * 1024);
}

TEST_F(AvailableMemory, IsKnownWithoutTheFiles) {
  EXPECT_GT(available(), 0);
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace coda::block
