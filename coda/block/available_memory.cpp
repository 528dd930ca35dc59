#include "coda/block/available_memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace coda::block {
namespace {

namespace fs = std::filesystem;

// The number of a file that has nothing else; none where there is no such file, or another word, as
// "max" for no limit.
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Of a file with lines "name number ...".
std::optional<int64_t> number_of(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string field;
    int64_t number = 0;
    if (words >> field >> number && field == name) return number;
  }
  return std::nullopt;
}

struct CgroupFiles {
  const char *limit, *used, *caches;  // the last one a line of memory.stat
};
constexpr CgroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr CgroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};

int64_t of_cgroup(const fs::path& cgroup, const CgroupFiles& files) {
  const auto limit = number_in(cgroup / files.limit);
  const auto used = number_in(cgroup / files.used);
  if (!limit || !used) return std::numeric_limits<int64_t>::max();
  const int64_t caches = number_of(cgroup / "memory.stat", files.caches).value_or(0);
  return std::max<int64_t>(*limit - std::max<int64_t>(*used - caches, 0), 0);
}

// What every group around it leaves too. Those that are not there are skipped: in a container the
// mount may begin with its own group, and the names be those that the host has for it.
int64_t of_nested_cgroups(fs::path mount, const fs::path& cgroup, const CgroupFiles& files) {
  int64_t least = of_cgroup(mount, files);
  for (const fs::path& name : cgroup.relative_path()) {
    if (name == "..") break;
    least = std::min(least, of_cgroup(mount /= name, files));
  }
  return least;
}

// Its lines: "0::/group" of version 2, "9:cpu,memory:/group" of version 1.
int64_t of_the_container(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  int64_t least = of_nested_cgroups(mount, "", kVersion2);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, controllers, cgroup;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, cgroup);
    if (number == "0" && controllers.empty()) {
      least = std::min(least, of_nested_cgroups(mount, cgroup, kVersion2));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, of_nested_cgroups(mount + "/memory", cgroup, kVersion1));
    }
  }
  return least;
}

int64_t of_the_machine(const std::string& meminfo) {
  if (const auto kibibytes = number_of(meminfo, "MemAvailable:")) return *kibibytes * 1024;
  return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

int64_t available_memory(const std::string& root) {
  return std::min(of_the_machine(root + "/proc/meminfo"), of_the_container(root));
}

}  // namespace coda::block
