// The coda command: output, messages and exit status.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "coda/block/device.h"
#include "coda/catalogue/operation.h"
#include "coda/core/error.h"
#include "coda/tools/check.h"
#include "coda/tools/suggest.h"
#include "tests/tools/run_coda.h"

namespace coda::tools {
namespace {

TEST(CommandLine, HelpsEverywhere) {
  for (const char* command : {"list", "info", "check", "bench", "tune"}) {
    const Outcome outcome = coda({command, "--help"});
    EXPECT_EQ(outcome.status, kSuccess);
    EXPECT_TRUE(contains(outcome.out, command)) << outcome.out;
    EXPECT_TRUE(contains(coda({"--help"}).out, command));
  }
  EXPECT_EQ(coda({"--version"}).out.substr(0, 5), "coda ");
}

TEST(CommandLine, ExplainsTypos) {
  expect_bad_use({"lst"}, {"lst", "did you mean 'list'?", "bench"});
  expect_bad_use({"--hlep"}, {"--hlep", "did you mean '--help'?"});
  expect_bad_use({"list", "linaer"}, {"linaer", "linear"});
  expect_bad_use({"check", "--case", "1", "linaer"}, {"linaer", "linear"});
  expect_bad_use({"check", "linear", "--variant", "bf61"}, {"bf61", "bf16"});
  expect_bad_use({"check", "--backend", "tpu"}, {"tpu", "cpu"});
  expect_bad_use({"check", "--seeds", "3"}, {"--seeds", "--backend sim"});
  expect_bad_use({"check", "--kernel", "0"}, {"--kernel", "--backend sim"});
  expect_bad_use({"check", "--backend", "sim", "--seeds", "0"}, {"--seeds", "coda check --help"});
  expect_bad_use({"check", "--backend", "sim", "--kernel", "99"}, {"sim", "no such kernel"});
  expect_bad_use({"check", "--slices", "3"}, {"--slices 3", "--backend sim or cuda"});
  expect_bad_use({"check", "--backend", "sim", "--slices", "0"}, {"--slices 0", "--backend cuda"});
  expect_bad_use({"check", "--backend", "sim", "--slices", "17"}, {"--slices"});
  expect_bad_use({"check", "--backend", "sim", "--isa", "avx2"}, {"--isa", "--backend cpu"});
  expect_bad_use({"check", "--isa", "avx3"}, {"avx3", "portable"});
  expect_bad_use({"check", "--cases", "many"}, {"--cases", "coda check --help"});
  expect_bad_use({"check", "linear", "--layer"}, {"--layer", "leave out operation"});
  expect_bad_use({"check", "--model", "--cases", "3", "--isa", "avx2", "--seed", "1"},
                 {"--model", "leave out --cases, --isa"});
  expect_bad_use({"check", "--layer", "--model"}, {"--layer", "leave out --model"});
  expect_bad_use({"check", "--huge", "--seed", "1"}, {"--huge", "leave out --seed"});
  expect_bad_use({"bench", "--jsn", "x"}, {"--jsn", "did you mean '--json'?"});
  expect_bad_use({"bench", "--backend", "tpu"}, {"tpu", "cpu"});
  expect_bad_use({"bench", "--backend", "sim"}, {"sim", "coda check"});
  expect_bad_use({"bench", "linear", "--variant", "bf61"}, {"bf61", "bf16"});
  expect_bad_use({"tune", "linaer"}, {"linaer", "linear"});
  expect_bad_use({"tune", "--cahce", "x"}, {"--cahce", "did you mean '--cache'?"});
  expect_bad_use({"tune", "--backend", "cpu"}, {"cpu", "--backend cuda"});
  expect_bad_use({"tune", "--shape", "1x2"}, {"--shape", "1x2"});
  expect_bad_use({"bench", "--dtype", "fp8"}, {"fp8", "bf16"});
  for (const char* shape : {"1x2", "1x2x", "1x2x0", "1x2x3x4", "axbxc", "1x-2x3", "", "x"}) {
    expect_bad_use({"bench", "--shape", shape}, {"MxNxK", "4096x2048x2048"});
  }
  expect_bad_use({"bench", "--json", "/no/such/folder/b.json"}, {"/no/such/folder/b.json"});
}

TEST(CommandLine, TakesDecimalNumbers) {
  EXPECT_TRUE(contains(coda({"explain", "linear", "--M", "010"}).out, "M = 10,"));
  EXPECT_TRUE(contains(coda({"check", "linear", "--cases", "03"}).out, "3 passed"));
  expect_bad_use({"explain", "linear", "--M", ""}, {"--M", "a whole number", "''"});
  expect_bad_use({"explain", "linear", "--M", "549755813888"}, {"2147483647", "549755813888"});
  expect_bad_use({"explain", "linear", "--M", "16777216", "--N", "16777216"}, {"2^44"});
  for (const char* option : {"--rounds", "--steps"}) {
    expect_bad_use({"bench-train", option, "0"}, {option, "1 to 100000"});
    expect_bad_use({"bench-train", option, "-5"}, {option, "1 to 100000"});
  }
  expect_bad_use({"check", "--case", "-1"}, {"--case", "a number from 0 on", "'-1'"});
  expect_bad_use({"check", "--case", "18446744073709551616"}, {"--case", "64 bits"});
}

TEST(CommandLine, DerivesForChoicesThatThereAre) {
  const auto derive = [](const std::string& number) {
    return std::vector<std::string>{"derive", "linear_activation", "--number", number};
  };
  EXPECT_EQ(coda(derive("activation=1")).status, kSuccess);
  for (const char* choice : {"-1", "1.5", "99", "nan", "inf"}) {
    expect_bad_use(derive(std::string("activation=") + choice),
                   {"activation", "from 0 to", choice});
  }
  expect_bad_use({"derive", "linear", "--number", "alpha=nan"}, {"alpha", "finite", "nan"});
  for (const char* number : {"0.5", "1e30"}) {
    expect_bad_use({"derive", "linear_cross_entropy", "--number", std::string("capped=") + number},
                   {"capped", "type int32", number == std::string("0.5") ? "0.5" : "1e+30"});
  }
}

TEST(CommandLine, ListsOperations) {
  const Outcome all = coda({"list"});
  EXPECT_EQ(all.status, kSuccess);
  for (const catalogue::Operation* operation : catalogue::operations()) {
    EXPECT_TRUE(contains(all.out, operation->name));
    EXPECT_TRUE(contains(all.out, operation->formula));
    for (const catalogue::Variant& variant : operation->variants) {
      EXPECT_TRUE(contains(all.out, variant.name));
      for (const PortView& port : variant.program.ports) {
        EXPECT_TRUE(contains(all.out, port.name));
      }
    }
  }
  const Outcome one = coda({"list", "linear_swiglu"});
  EXPECT_FALSE(contains(one.out, "linear_residual_norm"));
  EXPECT_TRUE(contains(one.out, "rstd.epsilon"));
  EXPECT_TRUE(contains(one.out, "B.second"));
}

TEST(CommandLine, TellsAboutItself) {
  const Outcome outcome = coda({"info"});
  EXPECT_EQ(outcome.status, kSuccess);
  for (const char* part : {"version", "commit", "portable", "cores", "backends", "gpu"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << outcome.out;
  }
}

TEST(CommandLine, ChecksAndCloses) {
  const Outcome outcome = coda({"check", "linear", "--cases", "3", "--seed", "7"});
  EXPECT_EQ(outcome.status, kSuccess) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("3 passed, 0 failed\n")) << outcome.out;
}

TEST(CommandLine, ChecksInTheSimulator) {
  const Outcome outcome = coda(
      {"check", "linear", "linear_swiglu", "--backend", "sim", "--cases", "2", "--seeds", "2"});
  EXPECT_EQ(outcome.status, kSuccess) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("4 passed, 0 failed\n")) << outcome.out;
}

TEST(CommandLine, FailsWhereACheckDoes) {
  const CheckResult result{
      .passed = 3, .failed = 25, .failures = std::vector<std::string>(30, "x")};
  testing::internal::CaptureStdout();
  EXPECT_EQ(report_check(result), kCheckFailed);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(out.ends_with("x\n... and 10 more\n3 passed, 25 failed\n")) << out;
}

TEST(CommandLine, BenchmarksEveryOperation) {
  const std::string path = testing::TempDir() + "coda_bench_test.json";
  const Outcome outcome = coda({"bench", "--shape", "64x128x64", "--rounds", "2", "--dtype", "bf16",
                                "--dtype", "fp32", "--json", path});
  ASSERT_EQ(outcome.status, kSuccess) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  EXPECT_TRUE(document["commit"].is_string() && document["machine"].is_string());
  EXPECT_EQ(document["date"].get<std::string>().size(), 10u);
  EXPECT_TRUE(document.contains("gpu") && document["gpu"].is_null());
  std::set<std::string> measured;
  for (const auto& result : document["results"]) {
    measured.insert(result["operation"]);
    for (const char* key :
         {"operation", "backend", "dtype", "M", "N", "K", "config", "chosen", "regime", "rounds",
          "ms", "baseline", "baseline_ms", "speedup", "tflops", "clock_mhz", "power_w"}) {
      EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["N"], 128);
    EXPECT_EQ(result["rounds"], 2);
    EXPECT_GT(result["ms"], 0.0);
    const bool gemm =
        catalogue::find_operation(result["operation"].get<std::string>()).has_operands;
    EXPECT_EQ(result["tflops"] > 0.0, gemm);
    EXPECT_EQ(result["gb_per_s"].is_null(), gemm);
    if (result["operation"] != "linear") {
      EXPECT_EQ(result["baseline"], gemm ? "linear" : "copy");
      EXPECT_DOUBLE_EQ(result["speedup"],
                       result["baseline_ms"].get<double>() / result["ms"].get<double>());
    }
    EXPECT_TRUE(contains(outcome.out, result["operation"]));
  }
  EXPECT_EQ(measured.size(), catalogue::operations().size());
}

TEST(CommandLine, BenchmarksAllPorts) {
  for (const catalogue::Operation* operation : catalogue::operations()) {
    for (const catalogue::Variant& variant : operation->variants) {
      const Outcome outcome = coda({"bench", operation->name, "--variant", variant.name,
                                    "--all-ports", "--shape", "32x96x40", "--rounds", "1"});
      EXPECT_EQ(outcome.status, kSuccess) << outcome.err;
    }
  }
}

TEST(Suggest, TakesTheNearest) {
  const std::vector<std::string> names = {"list", "info", "check", "bench"};
  EXPECT_EQ(nearest("lsit", names), "list");
  EXPECT_EQ(nearest("ben", names), "bench");
  EXPECT_EQ(nearest("zzzzzzzz", names), "");
  EXPECT_EQ(nearest("list", {}), "");
}

TEST(CommandLine, SaysWhatTheGpuLacks) {
  try {
    block::make_cuda_device();
    GTEST_SKIP() << "there is a GPU";
  } catch (const DeviceError& error) {
    expect_bad_use({"train", "--device", "cuda", "--steps", "1", "--out", "run-without-gpu"},
                   {error.what()});
    expect_bad_use({"check", "--model", "--backend", "cuda"}, {error.what()});
  }
  EXPECT_FALSE(std::filesystem::exists("run-without-gpu"));
}

}  // namespace
}  // namespace coda::tools
