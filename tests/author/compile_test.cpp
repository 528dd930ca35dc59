// coda::compile: a program for the GPU through NVRTC, without a GPU. Skipped where there is none.
#include "coda/author/compile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "coda/author/nvrtc.h"
#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"

namespace coda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = R"(#pragma once
#include <coda/program/program.h>
#include "factor.h"
template <class T>
struct Doubled {
  coda::Store<T> out;
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * kFactor);
  }
};
)";

class CompileTest : public InFolder {
 protected:
  void SetUp() override {
    try {
      author::Nvrtc::get();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    setenv("CODA_CACHE", (folder_ / "cache").c_str(), 1);
    folder_.write("doubled.h", kProgram);
    folder_.write("factor.h", "constexpr float kFactor = 2.0f;\n");
  }
  KernelSource source() const {
    return {.program = folder_ / "doubled.h",
            .type = "::Doubled<coda::bf16>",
            .operand = "coda::bf16",
            .tile = 1};
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
      result.push_back(entry.path());
    }
    return result;
  }
};

TEST_F(CompileTest, CompilesOnceUntilSomethingChanges) {
  const CompiledKernel first = compile(source());
  EXPECT_FALSE(first.from_cache);
  EXPECT_GT(first.cubin.size(), 1000u);
  EXPECT_NE(first.cubin.find(CompiledKernel::kFunction), std::string::npos);
  EXPECT_GT(first.registers, 0);
  EXPECT_EQ(first.spilled_bytes, 0);
  std::printf("compiled in %.1f s, %d registers\n", first.seconds, first.registers);

  const CompiledKernel again = compile(source());
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_EQ(again.registers, first.registers);
  EXPECT_LT(again.seconds, 1);

  // A damaged entry is compiled again.
  ASSERT_EQ(entries().size(), 1u);
  fs::resize_file(entries()[0], fs::file_size(entries()[0]) - 1);
  const CompiledKernel mended = compile(source());
  EXPECT_FALSE(mended.from_cache);
  EXPECT_EQ(mended.cubin, first.cubin);
  EXPECT_TRUE(compile(source()).from_cache);

  // So is a program whose other header has changed.
  folder_.write("factor.h", "constexpr float kFactor = 3.0f;\n");
  EXPECT_FALSE(compile(source()).from_cache);
  EXPECT_EQ(entries().size(), 2u);
}

TEST_F(CompileTest, ShowsTheAuthorsLine) {
  folder_.write("doubled.h",
                std::string(kProgram).replace(std::string(kProgram).find("kFactor"), 7, "kFctor"));
  try {
    compile(source());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("doubled.h:10:"), std::string::npos) << what;
    EXPECT_NE(what.find("kFctor"), std::string::npos) << what;
  }
}

TEST_F(CompileTest, ProcessesShareTheCache) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const CompiledKernel kernel = compile(source());
      _exit(kernel.cubin.size() > 1000 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_TRUE(compile(source()).from_cache);
}

}  // namespace
}  // namespace coda
