// The closing words of a run, whole and with parts missing.
#include "coda/train/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace coda::train {
namespace {

TEST(Summary, SaysEverything) {
  const RunSummary run{
      .model = "tiny, 0.9 M parameters",
      .device = "cpu (2 threads)",
      .steps = 300,
      .last_step = 500,
      .tokens = 1'843'200,
      .seconds = 150,
      .held_out_before = std::log(256.0),
      .held_out_after = std::log(16.0),
      .held_out_tokens = 81234,
      .operations = {{"attention", 300, 15}, {"linear", 1200, 60}, {"adamw", 300, 15}},
      .profiled_seconds = 150,
      .planned_bytes = 3 << 29,
      .seen_bytes = 3 << 28,
      .checkpoint = "runs/a b/step-00000500",
      .metrics = "runs/a b/metrics.jsonl",
      .plot = "runs/a b/loss.svg",
      .resume_command = "coda train --resume 'runs/a b'"};
  EXPECT_EQ(summary_text(run), R"(tiny, 0.9 M parameters on cpu (2 threads)
300 steps (to step 500), 1.84 M tokens in 150.0 s, 12.3 k tokens/s
loss on 81234 held-out tokens
  before  5.5452 (perplexity 256.00)
  after   2.7726 (perplexity 16.00), 50.0 % of its start
time per operation
  operation  calls  seconds   share
  linear      1200    60.00  40.0 %  ━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌
  adamw        300    15.00  10.0 %  ━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  attention    300    15.00  10.0 %  ━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  other               60.00  40.0 %  ━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌
peak memory
  planned  1.50 GiB
  seen     768.00 MiB
files
  checkpoint  runs/a b/step-00000500
  metrics     runs/a b/metrics.jsonl
  loss plot   runs/a b/loss.svg
  go on with  coda train --resume 'runs/a b'
)");
}

TEST(Summary, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(summary_text({.model = "m", .device = "d"}),
            "m on d\n0 steps (to step 0), 0 tokens in 0.0 s\n"
            "peak memory\n  planned  0 bytes\n  seen     0 bytes\n");
  const std::string before = summary_text({.held_out_before = 1.0, .held_out_tokens = 7});
  EXPECT_NE(before.find("loss on 7 held-out tokens\n  before  1.0000 (perplexity 2.72)\npeak"),
            std::string::npos)
      << before;
}

TEST(Summary, SharesAreOfTheTimeSpent) {
  // Operations that overlap may take longer than the clock: shares are then of their sum.
  const std::string text =
      summary_text({.seconds = 1, .operations = {{"a", 1, 3.0}, {"b", 1, 1.0}}});
  EXPECT_NE(text.find("75.0 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("other"), std::string::npos) << text;
  EXPECT_NE(summary_text({.operations = {{"a", 0, 0}}}).find("0.0 %"), std::string::npos);
}

TEST(Summary, CountsAndBytesAreShort) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(int64_t{24} << 30), "24.00 GiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(999.7), "1.00 k");
  EXPECT_EQ(count_text(1234), "1.23 k");
  EXPECT_EQ(count_text(9999), "10.0 k");
  EXPECT_EQ(count_text(123456), "123 k");
  EXPECT_EQ(count_text(999'999), "1.00 M");
  EXPECT_EQ(count_text(4.2e15), "4200 T");
}

}  // namespace
}  // namespace coda::train
