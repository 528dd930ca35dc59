// The file of tuned choices: writers that take turns, and files that cannot be read or written.
#include "coda/plan/tuning_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"

namespace coda::plan {
namespace {

namespace fs = std::filesystem;

class TuningFile : public InFolder {
 protected:
  void write(const std::string& text) const { write_all(path_, text); }
  std::string read() const { return read_all(path_); }

  const std::string path_ = folder_ / "cache.txt";
};

std::string key(int writer, int i) { return fmt::format("gpu{}\t{}\t0\tp\tm\ts", writer, i); }

TuningCache cache_with(const std::string& key, const std::string& config) {
  TuningCache cache;
  cache.set(key, config);
  return cache;
}

std::string refusal(const std::string& path) {
  try {
    merge_tuning(path, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(TuningFile, KeepsWhatWasThere) {
  merge_tuning(path_, cache_with(key(1, 1), "a"));
  merge_tuning(path_, cache_with(key(1, 2), "b"));
  merge_tuning(path_, cache_with(key(1, 1), "c"));
  const TuningCache cache = read_tuning(path_);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(*cache.find(key(1, 1)), "c");
  EXPECT_EQ(*cache.find(key(1, 2)), "b");
  EXPECT_FALSE(fs::exists(path_ + ".tmp"));
}

TEST_F(TuningFile, MissingAndDamagedFilesAreEmptyCaches) {
  EXPECT_EQ(read_tuning(path_).size(), 0u);
  EXPECT_EQ(read_tuning(folder_.path()).size(), 0u);
  write(
      "\x7f"
      "ELF");
  EXPECT_EQ(read_tuning(path_).size(), 0u);
}

TEST_F(TuningFile, DamagedLinesGoWithTheNextWrite) {
  merge_tuning(path_, cache_with(key(1, 1), "a"));
  const std::string good = read();
  write(good + "half of a li");
  merge_tuning(path_, {});
  EXPECT_EQ(read(), good);
}

TEST_F(TuningFile, OtherFilesAreNotReplaced) {
  for (const char* text : {"# Notes\n", "coda tuning cache, format 2\nx\n"}) {
    write(text);
    const std::string message = refusal(path_);
    EXPECT_NE(message.find(path_), std::string::npos) << message;
    EXPECT_NE(message.find("name another file"), std::string::npos) << message;
    EXPECT_EQ(read(), text);
  }
  write("");  // what a full disk leaves behind
  EXPECT_EQ(refusal(path_), "");
}

TEST_F(TuningFile, UnwritableFoldersAreSaid) {
  const std::string missing = folder_ / "missing/cache.txt";
  EXPECT_NE(refusal(missing).find("No such file or directory"), std::string::npos);
  EXPECT_NE(refusal(missing).find(missing), std::string::npos);
  write("");
  EXPECT_NE(refusal(path_ + "/cache.txt").find("Not a directory"), std::string::npos);
  const std::string folder = folder_ / "folder";
  fs::create_directory(folder);
  EXPECT_NE(refusal(folder).find("cannot replace it"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder + ".tmp"));
}

constexpr int kEach = 40;

void write_entries(const std::string& path, int writer) {
  for (int i = 0; i < kEach; ++i) merge_tuning(path, cache_with(key(writer, i), "a"));
}

TEST_F(TuningFile, ProcessesLoseNothingOfEachOther) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    write_entries(path_, 1);
    _exit(0);
  }
  write_entries(path_, 2);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_tuning(path_).size(), 2u * kEach);
}

TEST_F(TuningFile, ThreadsLoseNothingOfEachOtherAndReadersSeeWholeFiles) {
  merge_tuning(path_, cache_with(key(0, 0), "a"));
  std::atomic<bool> done = false;
  std::atomic<int> damaged = 0;
  std::thread reader([&] {
    while (!done) {
      const std::string text = read();
      if (TuningCache::parse(text).text() != text) ++damaged;
    }
  });
  std::thread one([&] { write_entries(path_, 1); }), two([&] { write_entries(path_, 2); });
  one.join();
  two.join();
  done = true;
  reader.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(read_tuning(path_).size(), 2u * kEach + 1);
}

// In a process of its own: the variable is read once.
TEST_F(TuningFile, TheEnvironmentNamesTheCache) {
  merge_tuning(path_, cache_with(key(1, 1), "a"));
  EXPECT_EXIT(
      {
        setenv("CODA_TUNING_CACHE", path_.c_str(), 1);
        const TuningCache* cache = tuning_in_use();
        setenv("CODA_TUNING_CACHE", "elsewhere", 1);
        std::exit(cache != nullptr && cache->size() == 1 && tuning_in_use() == cache ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("CODA_TUNING_CACHE", path_.c_str(), 1);
        use_tuning({});
        std::exit(tuning_in_use()->size() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("CODA_TUNING_CACHE", "/nowhere/at/all", 1);
        std::exit(tuning_in_use()->size() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coda::plan
