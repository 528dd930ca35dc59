// The cache of compiled kernels: whole entries or none, whoever else writes at the same time.
#include "coda/author/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "coda/core/sha256.h"
#include "tests/core/temporary_folder.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public InFolder {
 protected:
  const std::string key_ = sha256("a kernel");
};

TEST(Sha256, MatchesKnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // Lengths around a block's end.
  EXPECT_EQ(sha256(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST_F(KernelCacheTest, GivesBackWhatItWasGiven) {
  const KernelCache cache(folder_ / "below");
  EXPECT_FALSE(cache.find(key_));
  const std::string bytes("\0cubin\n\xff", 8);
  cache.keep(key_, bytes);
  EXPECT_EQ(cache.find(key_), bytes);
  EXPECT_FALSE(cache.find(sha256("another")));
}

TEST_F(KernelCacheTest, TakesADamagedEntryForNone) {
  const KernelCache cache(folder_.path());
  cache.keep(key_, "some bytes of a kernel");
  for (const size_t at : {0u, 40u, 64u, 80u}) {
    cache.keep(key_, "some bytes of a kernel");
    std::fstream file(cache.file_of(key_));
    file.seekp(static_cast<std::streamoff>(at));
    file.put('#');
    file.close();
    EXPECT_FALSE(cache.find(key_)) << at;
  }
  cache.keep(key_, "some bytes of a kernel");
  for (const uintmax_t size : {0u, 10u, 64u, 70u}) {
    fs::resize_file(cache.file_of(key_), size);
    EXPECT_FALSE(cache.find(key_)) << size;
    cache.keep(key_, "some bytes of a kernel");
  }
  EXPECT_TRUE(cache.find(key_));
  // Of another kernel, whole.
  fs::copy_file(cache.file_of(key_), cache.file_of(sha256("another")));
  EXPECT_FALSE(cache.find(sha256("another")));
}

TEST_F(KernelCacheTest, DoesWithoutAFolderThatCannotBeWritten) {
  folder_.write("file", "no folder");
  const KernelCache cache(folder_ / "file");
  cache.keep(key_, "bytes");
  EXPECT_FALSE(cache.find(key_));
}

TEST_F(KernelCacheTest, IsSharedByProcesses) {
  const KernelCache cache(folder_.path());
  constexpr int kProcesses = 8, kRounds = 200;
  const auto bytes = [](int process) {
    return std::string(20000 + static_cast<size_t>(process), static_cast<char>('a' + process));
  };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      int torn = 0;
      for (int round = 0; round < kRounds; ++round) {
        cache.keep(key_, bytes(process));
        const auto found = cache.find(key_);
        torn += !found || *found != bytes(found->at(0) - 'a');
      }
      _exit(torn == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 1);  // nothing temporary is left
}

}  // namespace
}  // namespace coda::author
