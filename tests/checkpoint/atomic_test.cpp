// Writing: whole or not at all, also where the disk is full.
#include "coda/checkpoint/atomic.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "coda/checkpoint/safetensors.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

using Atomic = InFolder;

// Files end at so many bytes while it lives: a write is cut short there, and the next one fails.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LargestFile() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

size_t entries(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

void fill(const std::string& path, const std::string& text) {
  FileOutput output(path);
  output.write(text);
  output.finish();
}

TEST_F(Atomic, AFileIsReplaced) {
  write_file_atomically(folder_ / "x", "one");
  EXPECT_EQ(read_all(folder_ / "x"), "one");
  write_file_atomically(folder_ / "x", "");
  EXPECT_EQ(read_all(folder_ / "x"), "");
  EXPECT_EQ(entries(folder_.path()), 1u);
}

TEST_F(Atomic, AFileStaysWhenTheWriteIsCutShort) {
  write_file_atomically(folder_ / "x", "before");
  {
    const LargestFile limit(1000);
    expect_error([&] { write_file_atomically(folder_ / "x", std::string(1001, 'a')); },
                 {folder_ / "x", "as it was", "File too large"});
  }
  EXPECT_EQ(read_all(folder_ / "x"), "before");
  EXPECT_EQ(entries(folder_.path()), 1u);
}

TEST_F(Atomic, AFullDiskIsNamed) {
  expect_error(
      [] {
        FileOutput output("/dev/full");
        output.write("a");
      },
      {"'/dev/full'", "No space left on device"});
  expect_error([] { write_safetensors("/dev/full", {}); },
               {"'/dev/full'", "No space left on device"});
}

TEST_F(Atomic, AFolderIsMadeAndReplaced) {
  write_folder_atomically(folder_ / "m", [&](const std::string& folder) {
    EXPECT_FALSE(fs::exists(folder_ / "m"));
    fill(folder + "/a", "1");
    fill(folder + "/b", "2");
  });
  write_folder_atomically(folder_ / "m/", [&](const std::string& folder) {
    EXPECT_TRUE(fs::is_empty(folder));
    EXPECT_EQ(read_all(folder_ / "m/b"), "2");
    fill(folder + "/a", "3");
  });
  EXPECT_EQ(read_all(folder_ / "m/a"), "3");
  EXPECT_FALSE(fs::exists(folder_ / "m/b"));
  EXPECT_EQ(entries(folder_.path()), 1u);
}

TEST_F(Atomic, AFolderStaysWhenTheDiskIsFull) {
  write_folder_atomically(folder_ / "m",
                          [](const std::string& folder) { fill(folder + "/a", "1"); });
  const std::string large(5000, 'x');
  const auto record = tensor_record("w", DType::kFp16, {2500}, large.data());
  const auto write = [&](const std::string& folder) {
    fill(folder + "/a", "2");
    write_safetensors(folder + "/model.safetensors", {&record, 1});
  };
  {
    const LargestFile limit(4096);
    expect_error([&] { write_folder_atomically(folder_ / "m", write); },
                 {folder_ / "m", "as it was", "model.safetensors", "File too large"});
  }
  EXPECT_EQ(read_all(folder_ / "m/a"), "1");
  EXPECT_EQ(entries(folder_.path()), 1u);

  const auto full = [&](const std::string& folder) {  // what is written there goes to a full disk
    fs::create_symlink("/dev/full", folder + "/model.safetensors");
    write(folder);
  };
  expect_error([&] { write_folder_atomically(folder_ / "m", full); },
               {folder_ / "m", "as it was", "model.safetensors", "No space left on device"});
  EXPECT_EQ(read_all(folder_ / "m/a"), "1");
  EXPECT_EQ(entries(folder_.path()), 1u);

  write_folder_atomically(folder_ / "m", write);
  EXPECT_EQ(read_all(folder_ / "m/a"), "2");
}

TEST_F(Atomic, AFolderStaysWhenTheCallerFails) {
  const auto fails = [](const std::string&) { throw std::runtime_error("the caller's reason"); };
  expect_error([&] { write_folder_atomically(folder_ / "m", fails); }, {"the caller's reason"});
  EXPECT_EQ(entries(folder_.path()), 0u);
}

TEST_F(Atomic, LeftoversOfTheSameNameDoNotMatter) {
  fs::create_directories(folder_ / ".tmp-m/inner");
  write_all(folder_ / ".tmp-x", "half");
  write_folder_atomically(folder_ / "m",
                          [](const std::string& folder) { fill(folder + "/a", "1"); });
  write_file_atomically(folder_ / "x", "whole");
  EXPECT_FALSE(fs::exists(folder_ / "m/inner"));
  EXPECT_EQ(read_all(folder_ / "x"), "whole");
  EXPECT_EQ(entries(folder_.path()), 2u);
}

TEST_F(Atomic, PathsThatCannotBe) {
  const auto nothing = [](const std::string&) {};
  expect_error([&] { write_file_atomically(folder_ / "no/x", ""); }, {"no/x", "No such file"});
  expect_error([&] { write_folder_atomically(folder_ / "no/m", nothing); },
               {"no/m", "No such file"});
  write_all(folder_ / "file", "kept");
  expect_error([&] { write_folder_atomically(folder_ / "file", nothing); }, {"file", "Not a dir"});
  EXPECT_EQ(read_all(folder_ / "file"), "kept");
  fs::create_directory(folder_ / "dir");
  expect_error([&] { write_file_atomically(folder_ / "dir", ""); }, {"dir", "Is a directory"});
  expect_error([&] { write_file_atomically("", ""); }, {"ends in a name"});
  expect_error([&] { write_folder_atomically("/", nothing); }, {"ends in a name"});
  expect_error([&] { write_folder_atomically("a/..", nothing); }, {"ends in a name"});
  expect_error([&] { remove_folder_atomically(folder_ / "gone"); }, {"gone", "No such file"});
  EXPECT_EQ(entries(folder_.path()), 2u);
}

TEST_F(Atomic, AFolderIsRemoved) {
  fs::create_directories(folder_ / "m/inner");
  remove_folder_atomically(folder_ / "m");
  EXPECT_EQ(entries(folder_.path()), 0u);
}

}  // namespace
}  // namespace coda::checkpoint
