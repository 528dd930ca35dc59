#include "coda/block/available_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace coda::block {
namespace {

// The number of a file that has nothing else; none where there is no such file, or another word, as
// "max" for no limit.
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Of a file with lines "name number ...".
std::optional<int64_t> number_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string field;
    int64_t number = 0;
    if (words >> field >> number && field == name) return number;
  }
  return std::nullopt;
}

int64_t of_the_container(const std::string& cgroup) {
  const auto limit = number_in(cgroup + "/memory.max");
  const auto used = number_in(cgroup + "/memory.current");
  if (!limit || !used) return std::numeric_limits<int64_t>::max();
  const int64_t caches = number_of(cgroup + "/memory.stat", "inactive_file").value_or(0);
  return std::max<int64_t>(*limit - *used + caches, 0);
}

int64_t of_the_machine(const std::string& meminfo) {
  if (const auto kibibytes = number_of(meminfo, "MemAvailable:")) return *kibibytes * 1024;
  return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

int64_t available_memory(const std::string& root) {
  return std::min(of_the_machine(root + "/proc/meminfo"),
                  of_the_container(root + "/sys/fs/cgroup"));
}

}  // namespace coda::block
